// Lists the words of an answer that match words of the question.

import { make } from "./dom.js";
import { getTellingMatches } from "./highlight.js";

export function renderWords(place, answer) {
  const matches = getTellingMatches(answer?.matches);
  place.hidden = !matches.length;
  place.replaceChildren(
    make("h3", {}, `Words of answer ${answer?.rank ?? ""}`),
    describeSearch(answer?.found_by ?? []),
    make(
      "dl",
      { class: "pairs" },
      ...matches.map(({ question_word, sentence_word, relatedness, weight }) =>
        make(
          "div",
          { "--related": (relatedness * weight).toFixed(2) },
          make("dt", {}, question_word),
          make("dd", {}, make("span", { class: "pair-bar", "aria-hidden": true }), sentence_word),
          make("dd", { class: "number" }, relatedness.toFixed(2)),
        ),
      ),
    ),
  );
}

function describeSearch(sources) {
  if (!sources.length) return null;
  return make("p", { class: "quiet found-by" }, `Found by its ${sources.join(" and ")}.`);
}
