// Renders the blocks of a document: paragraphs, lists, tables and code.  Each block has its kind
// and its text, and the `range` of the text that is marked, if there is one.

import { make } from "./dom.js";

const RUNS = ["item", "row", "definition"];
const LEAD_INS = ["paragraph", "item", "definition"];
// A block takes in the code that it introduces, behind an empty line or the mark of a fence.
const CODE_BORDER = /\n(?:[^\S\n]*(?:(?:```|~~~)[^\n]*)?\n)+/u;

// Returns the elements of blocks.  `plain` and `mark` make the nodes of a part of their text.
export const makeBlocks = (blocks, { plain, mark }) =>
  group(blocks).map((run) => makeRun(run, (block, start, end) => makeParts(block, start, end, { plain, mark })));

// Returns items and rows with those next to them, code with its continuation, and others alone.
function group(blocks) {
  const groups = [];
  for (const block of blocks) {
    const last = groups.at(-1);
    const [own, before] = [block.kind, last?.at(-1)];
    const goesOn = own === "code" ? before?.end === block.start : RUNS.includes(own);
    if (goesOn && before?.kind === own) last.push(block);
    else groups.push([block]);
  }
  return groups;
}

function makeRun(blocks, toNodes) {
  const [first] = blocks;
  const whole = (block) => toNodes(block, 0, block.text.length);
  const split = (block) => splitLeadIn(block, toNodes);
  switch (first.kind) {
    case "item":
      return make("ul", {}, ...blocks.map((block) => make("li", {}, ...split(block))));
    case "row":
      return makeTable(blocks, toNodes);
    case "code":
      return makeCode(blocks.flatMap(whole));
    case "heading":
      return makeHeading(first, whole(first));
    case "caption":
      return make("p", { class: "caption" }, ...whole(first));
    default:
      return make("div", {}, ...blocks.flatMap((block) => {
        const [lead, ...code] = split(block);
        return [make("p", {}, lead), ...code];
      }));
  }
}

const makeHeading = ({ level }, nodes) =>
  make("p", { class: "heading", ...(level && { role: "heading", "aria-level": level }) }, ...nodes);

// Code may be wider than the page: it scrolls, also by keyboard.
const makeCode = (nodes) =>
  make("pre", { tabindex: "0", role: "group", "aria-label": "Code" }, make("code", {}, ...nodes));

// Returns the nodes of a lead-in, and the element of its code, if it has any.
function splitLeadIn(block, toNodes) {
  const lead = document.createDocumentFragment();
  const found = LEAD_INS.includes(block.kind) && block.text.match(CODE_BORDER);
  const border = found ? found.index : block.text.length;
  lead.append(...toNodes(block, 0, border));
  return found ? [lead, makeCode(toNodes(block, border + found[0].length, block.text.length))] : [lead];
}

// Rows read "Column: value; Column: value".
function makeTable(blocks, toNodes) {
  const rows = blocks.map((block) => ({ block, cells: splitRow(block.text) }));
  const names = rows[0].cells.map(({ name }) => name);
  const isSame = ({ cells }) =>
    cells.length === names.length && cells.every(({ name }, place) => name && name === names[place]);
  const hasColumns = names.length > 1 && rows.every(isSame);
  const body = rows.map(({ block, cells }) => {
    const spans = hasColumns ? cells : [{ start: 0, end: block.text.length }];
    const made = spans.map(({ start, end }) => make("td", {}, ...toNodes(block, start, end)));
    return make("tr", {}, ...made);
  });
  const head = names.map((name) => make("th", { scope: "col" }, name));
  const table = make(
    "table",
    {},
    hasColumns ? make("thead", {}, make("tr", {}, ...head)) : null,
    make("tbody", {}, ...body),
  );
  return make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Table" }, table);
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

// Returns the nodes of a part of a block, with what it has of the range marked.
function makeParts({ text, range }, start, end, { plain, mark }) {
  const [from, to] = (range ?? [end, end]).map((place) => Math.min(end, Math.max(start, place)));
  return [
    from > start ? plain(text.slice(start, from)) : null,
    to > from ? mark(text.slice(from, to)) : null,
    to < end ? plain(text.slice(to, end)) : null,
  ].filter((node) => node !== null);
}
