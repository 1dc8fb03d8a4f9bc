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

function makeTable(blocks, toNodes) {
  const { names, rows } = readTable(blocks.map(({ text }) => text));
  const body = blocks.map((block, place) => {
    const cells = rows?.[place] ?? [{ start: 0, end: block.text.length }];
    const made = cells.map((cell) => make("td", {}, ...(cell ? toNodes(block, cell.start, cell.end) : [])));
    return make("tr", {}, ...made);
  });
  const head = names.map((name) => make(name ? "th" : "td", { scope: name ? "col" : null }, name));
  const table = make(
    "table",
    {},
    rows ? make("thead", {}, make("tr", {}, ...head)) : null,
    make("tbody", {}, ...body),
  );
  return make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Table" }, table);
}

// Returns the names of a table's columns, and where the cells of each row are; no rows if they do
// not begin with columns.  Rows read "Column: value; Column: value"; an empty cell is left out, the
// last column may have no name, and a value may have "; " and ": " in it too.
function readTable(texts) {
  const split = texts.map(splitRow);
  const counts = new Map();
  for (const { name } of split.flat()) counts.set(name, (counts.get(name) ?? 0) + 1);
  const isCommon = (name) => counts.get(name) * 2 >= texts.length;
  const names = [...counts.keys()].filter((name) => name && isCommon(name));
  const isOpen = (pieces) => pieces.findLastIndex(({ name }) => names.includes(name)) < pieces.length - 1;
  const hasRest = split.filter(isOpen).length * 2 > texts.length;
  if (names.length < 2 || !split.every(([first]) => names.includes(first?.name))) return { names };
  const rows = split.map((pieces) => joinPieces(pieces, names, hasRest));
  return { names: hasRest ? [...names, ""] : names, rows };
}

// Returns the cell of each column; what begins with no column's name belongs to the cell before.
function joinPieces(pieces, names, hasRest) {
  const last = pieces.findLastIndex(({ name }) => names.includes(name));
  const cells = Array(names.length + hasRest).fill(null);
  let column = 0;
  for (const [place, { name, begin, start, end }] of pieces.entries()) {
    const own = names.indexOf(name);
    const isNew = own >= 0 && !cells[own];
    if (isNew) column = own;
    else if (hasRest && place > last) column = names.length;
    cells[column] = { start: cells[column]?.start ?? (isNew ? start : begin), end };
  }
  return cells;
}

// Returns the pieces of a row between semicolons, each with the name before its colon.
function splitRow(text) {
  const pieces = [];
  for (const { 0: piece, index } of text.matchAll(/[^;]+(?:;(?! )[^;]*)*/gu)) {
    const [, indent, name] = piece.match(/^(\s*)(?:([^:]{1,60}):\s)?/u);
    const begin = index + indent.length;
    const start = begin + (name === undefined ? 0 : name.length + 2);
    pieces.push({ name: name ?? "", begin, start, end: index + piece.length });
  }
  return pieces;
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
