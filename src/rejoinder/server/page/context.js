// Renders the blocks around an answer, with its sentence marked.

import { makeBlocks } from "./blocks.js";
import { make } from "./dom.js";
import { findSentence } from "./offsets.js";

// Returns the elements of the blocks; null if none of them holds the sentence.
export function makeContext(answer, shade) {
  const { context, source, sentence } = answer;
  const own = (context ?? []).find(
    (block) => block.start <= source.start && source.start < block.end,
  );
  const range = own && findSentence(own, source, sentence);
  if (!range) return null;
  const marked = context.map((block) => ({ ...block, range: block === own ? range : null }));
  return makeBlocks(marked, {
    plain: (text) => make("span", { class: "around" }, text),
    mark: (text) => make("mark", {}, ...shade(text)),
  });
}
