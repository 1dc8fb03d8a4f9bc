// Shades the words of a sentence by their relatedness to the question's words.

import { make } from "./dom.js";

// Words as the server's tokenizer splits them: at spaces and punctuation.
const WORD = /\p{Script=Han}|[^\s\p{P}$+<=>^`|~\p{Script=Han}]+/gu;
const MIN_RELATEDNESS = 0.3; // any two words are related a little

export function shade(sentence, matches) {
  const relatedness = new Map();
  for (const { sentence_word: word, relatedness: value } of matches ?? []) {
    relatedness.set(word, Math.max(value, relatedness.get(word) ?? 0));
  }
  const parts = [];
  let end = 0;
  for (const { 0: word, index } of sentence.matchAll(WORD)) {
    const value = relatedness.get(fold(word)) ?? 0;
    if (value < MIN_RELATEDNESS) continue;
    parts.push(sentence.slice(end, index));
    parts.push(make("span", { class: "match", "--related": toShare(value) }, word));
    end = index + word.length;
  }
  return [...parts, sentence.slice(end)];
}

// As the server's tokenizer: lower case, without accents.
const fold = (word) => word.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

const toShare = (value) => Math.min(1, Math.max(0, (value - MIN_RELATEDNESS) / (1 - MIN_RELATEDNESS))).toFixed(2);

export function renderWords(place, answer) {
  const matches = answer?.matches ?? [];
  place.hidden = !matches.length;
  place.replaceChildren(
    make("h3", {}, `Words of answer ${answer?.rank ?? ""}`),
    make(
      "dl",
      { class: "pairs" },
      ...matches.map(({ question_word, sentence_word, relatedness }) =>
        make(
          "div",
          { "--related": Math.max(0, relatedness).toFixed(2) },
          make("dt", {}, question_word),
          make("dd", {}, make("span", { class: "pair-bar", "aria-hidden": true }), sentence_word),
          make("dd", { class: "number" }, relatedness.toFixed(2)),
        ),
      ),
    ),
  );
}
