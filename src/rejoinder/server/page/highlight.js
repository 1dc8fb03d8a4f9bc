// Chooses the words of a sentence to highlight: those that match the question, and those that fit
// the kind of answer that it asks for.

import { make } from "./dom.js";

// Words as the server's tokenizer splits them: at spaces and punctuation.
const WORD = /\p{Script=Han}|[^\s\p{P}$+<=>^`|~\p{Script=Han}]+/gu;
const MIN_RELATEDNESS = 0.35; // any two words are related a little

// A word of most sentences of the index says nothing; a word of one in ten does.
const MIN_WEIGHT = 0.15;

// Not names, even where they begin a sentence.
const FUNCTION_WORDS = new Set(
  `a about after again all also am an and any are as at be because been before being between both
  but by can could did do does doing down during each either else ever every few for from further
  had has have having he her here hers him his how however i if in into is it its itself just ll me
  might more most much many must my no nor not of off on once one only or other our out over own re
  s same shall she should since so some such t than that the their them then there these they this
  those through to too under until up upon us ve very was we were what when where whether which
  while who whom whose why will with within without would you your`.split(/\s+/),
);

const NUMBER_WORDS = new Set(
  `one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
  seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand
  million billion half twice once dozen`.split(/\s+/),
);
const CALENDAR = new Set(
  `january february march april june july august september october november december monday tuesday
  wednesday thursday friday saturday sunday noon midnight today tomorrow yesterday`.split(/\s+/),
);
const MEASURED =
  "many much old long far tall big often hot cold warm deep high fast wide heavy large small early late soon";
const COUNTED =
  "year years date day month time hour century age port ports number percentage share version temperature price cost size speed limit amount";
const ASKS_NUMBER = new RegExp(
  `\\bhow (${MEASURED.replaceAll(" ", "|")})\\b|\\b(what|which) (\\w+ )?(${COUNTED.replaceAll(" ", "|")})\\b|\\bwhen\\b`,
  "iu",
);
const ASKS_DATE = /\bwhen\b|\b(what|which) (year|date|day|month|time)\b/iu;
const ASKS_NAME = /\b(who|whom|whose|where)\b/iu;
// Any word that begins a sentence is capitalised; a name of two words is a name there, too.
const GOES_ON = /^ (?:(?:al|bin|da|de|del|der|di|la|le|van|von) )*\p{Lu}/u;

// As the server's tokenizer: lower case, without accents.
export const fold = (word) => word.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

// The matches that say something, for people to read: the most telling first.
export const getTellingMatches = (matches) =>
  (matches ?? [])
    .filter(({ weight, relatedness }) => weight >= MIN_WEIGHT && relatedness > 0)
    .sort((one, other) => other.weight * other.relatedness - one.weight * one.relatedness);

// Returns the parts of a sentence: { text, related, fits }, of which the texts are the sentence.
export function splitSentence(sentence, matches, question = "") {
  const strengths = new Map();
  for (const { sentence_word: word, relatedness, weight } of getTellingMatches(matches)) {
    const strength = relatedness < MIN_RELATEDNESS ? 0 : toShare(relatedness) * (0.4 + 0.6 * weight);
    strengths.set(word, Math.max(strength, strengths.get(word) ?? 0));
  }
  const fits = makeFit(question);
  const parts = [];
  let end = 0;
  for (const found of sentence.matchAll(WORD)) {
    const { 0: word, index } = found;
    const related = strengths.get(fold(word)) ?? 0;
    const isFit = fits(word, sentence.slice(0, index), sentence.slice(index + word.length));
    if (!related && !isFit) continue;
    if (index > end) parts.push({ text: sentence.slice(end, index), related: 0, fits: false });
    parts.push({ text: word, related, fits: isFit });
    end = index + word.length;
  }
  if (end < sentence.length) parts.push({ text: sentence.slice(end), related: 0, fits: false });
  return joinNumbers(parts);
}

const toShare = (value) => Math.min(1, 0.25 + (0.75 * (value - MIN_RELATEDNESS)) / (1 - MIN_RELATEDNESS));

// "2,000" and "7.5" are two words of the tokenizer, but one number.
function joinNumbers(parts) {
  const joined = [];
  for (const part of parts) {
    const [middle, first] = [joined.at(-1), joined.at(-2)];
    const isNumber =
      part.fits && first?.fits && /^[.,:]$/u.test(middle.text) && /\d$/u.test(first.text) && /^\d/u.test(part.text);
    if (isNumber) {
      joined.splice(-2, 2, { ...first, text: first.text + middle.text + part.text });
    } else joined.push(part);
  }
  return joined;
}

// Returns whether a word, between two texts, is of the kind that the question asks for.
function makeFit(question) {
  if (ASKS_NUMBER.test(question)) {
    const isDate = ASKS_DATE.test(question);
    return (word) =>
      /\p{N}/u.test(word) ||
      NUMBER_WORDS.has(fold(word)) ||
      (isDate && (CALENDAR.has(fold(word)) || word === "May"));
  }
  if (!ASKS_NAME.test(question)) return () => false;
  const asked = new Set([...question.matchAll(WORD)].map((found) => fold(found[0])));
  return (word, before, after) =>
    /^\p{Lu}/u.test(word) &&
    !FUNCTION_WORDS.has(fold(word)) &&
    !asked.has(fold(word)) &&
    (/[\p{L}\p{N}]/u.test(before) || GOES_ON.test(after));
}

// Returns the nodes of a sentence with its words highlighted.
export function shade(sentence, matches, question) {
  return splitSentence(sentence, matches, question).map(({ text, related, fits }) => {
    if (!related && !fits) return text;
    const kinds = [related && "match", fits && "fits"].filter(Boolean).join(" ");
    return make("span", { class: kinds, "--related": related.toFixed(2) }, text);
  });
}
