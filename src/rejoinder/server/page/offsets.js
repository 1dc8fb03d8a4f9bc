// Offsets of the API count code points; strings of JavaScript count UTF-16 units.

// Returns a function from a code point's place in the text to the place of its first unit.
export function makeOffsets(text) {
  const pairs = []; // places, in code points, of the characters that take two units
  if (/[\ud800-\udbff]/.test(text)) {
    let place = 0;
    for (const character of text) {
      if (character.length === 2) pairs.push(place);
      place++;
    }
  }
  return (place) => place + countBelow(pairs, place);
}

function countBelow(sorted, limit) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Returns the range of a sentence in a block, in UTF-16 units; null if it is not there.
export function findSentence(block, { start, end }, sentence) {
  const toUnit = makeOffsets(block.text);
  const range = [toUnit(Math.max(0, start - block.start)), toUnit(end - block.start)];
  if (fold(block.text.slice(...range)) === fold(sentence)) return range;
  const found = block.text.indexOf(sentence);
  return found < 0 ? null : [found, found + sentence.length];
}

const fold = (text) => text.replace(/\s+/gu, " ").trim();
