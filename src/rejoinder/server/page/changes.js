// What another budget changed: answers that came, moved or stayed, and the time.

import { milliseconds } from "./numbers.js";

const identify = ({ sentence, source }) =>
  JSON.stringify([sentence, source.document, source.start]);

const list = (found) =>
  found.answers.length ? found.answers : found.closest ? [found.closest] : [];

// Returns a word for each answer, empty where it stands as before.
export function compare(before, now) {
  if (!before) return now.answers.map(() => "");
  const places = new Map(list(before).map((answer, place) => [identify(answer), place]));
  return now.answers.map((answer, place) => {
    const old = places.get(identify(answer));
    if (old === undefined) return "new";
    return old === place ? "" : `was ${old + 1}`;
  });
}

// Returns one sentence about it.
export function describe(before, now) {
  const moved = compare(before, now).filter(Boolean).length;
  const [first, old] = [list(now)[0], list(before)[0]];
  const times = `${milliseconds(now.milliseconds)} instead of ${milliseconds(before.milliseconds)}`;
  if (now.abstains !== before.abstains) {
    return now.abstains
      ? `Now no sentence is sure enough: ${times}.`
      : `Now there is an answer: ${times}.`;
  }
  if (!first || !old) return `${times}.`;
  const same = identify(first) === identify(old);
  const rest = moved ? `, ${moved} of ${now.answers.length} moved` : ", nothing moved";
  return `${same ? "The same answer" : "Another answer"}${rest}: ${times}.`;
}
