// Renders the blocks around an answer: paragraphs, lists, tables and code, with the sentence marked.

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
  const marked = context.map((block) => ({ ...block, range: block === own ? range : null, shade }));
  return group(marked).map(makeGroup);
}

// Returns runs of items and of rows together, and other blocks alone.
function group(blocks) {
  const groups = [];
  for (const block of blocks) {
    const last = groups.at(-1);
    const isRun = ["item", "row", "definition"].includes(block.kind);
    if (isRun && last?.[0].kind === block.kind) last.push(block);
    else groups.push([block]);
  }
  return groups;
}

function makeGroup(blocks) {
  const [first] = blocks;
  const whole = (block) => makeParts(block, 0, block.text.length);
  switch (first.kind) {
    case "item":
      return make("ul", {}, ...blocks.map((block) => make("li", {}, ...whole(block))));
    case "row":
      return makeTable(blocks);
    case "code":
      // Code may be wider than the page: it scrolls, also by keyboard.
      return make("pre", { tabindex: "0", role: "region", "aria-label": "Code" }, make("code", {}, ...whole(first)));
    case "heading":
      return make("p", { class: "heading" }, ...whole(first));
    default:
      return make("div", {}, ...blocks.map((block) => make("p", { class: block.kind === "caption" ? "caption" : null }, ...whole(block))));
  }
}

// Rows read "Column: value; Column: value".
function makeTable(blocks) {
  const rows = blocks.map((block) => ({ block, cells: splitRow(block.text) }));
  const names = rows[0].cells.map(({ name }) => name);
  const isSame = ({ cells }) =>
    cells.length === names.length && cells.every(({ name }, place) => name && name === names[place]);
  const hasColumns = names.length > 1 && rows.every(isSame);
  const body = rows.map(({ block, cells }) => {
    const spans = hasColumns ? cells : [{ start: 0, end: block.text.length }];
    const made = spans.map(({ start, end }) => make("td", {}, ...makeParts(block, start, end)));
    return make("tr", {}, ...made);
  });
  const head = names.map((name) => make("th", { scope: "col" }, name));
  const table = make(
    "table",
    {},
    hasColumns ? make("thead", {}, make("tr", {}, ...head)) : null,
    make("tbody", {}, ...body),
  );
  return make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table" }, table);
}

// Returns the column's name of each cell, and where its value is.
function splitRow(text) {
  const cells = [];
  for (const { 0: cell, index } of text.matchAll(/[^;]+(?:;(?! )[^;]*)*/gu)) {
    const [, indent, name] = cell.match(/^(\s*)(?:([^:]{1,60}):\s)?/u);
    const start = index + indent.length + (name === undefined ? 0 : name.length + 2);
    cells.push({ name: name ?? "", start, end: index + cell.length });
  }
  return cells;
}

// Returns a part of a block, with what it has of the sentence marked.
function makeParts({ text, range, shade }, start, end) {
  const [from, to] = (range ?? [end, end]).map((place) => Math.min(end, Math.max(start, place)));
  return [
    from > start ? make("span", { class: "around" }, text.slice(start, from)) : null,
    to > from ? make("mark", {}, ...shade(text.slice(from, to))) : null,
    to < end ? make("span", { class: "around" }, text.slice(to, end)) : null,
  ];
}
