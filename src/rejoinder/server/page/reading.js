// A document, with one sentence marked.  Only what is on the screen is laid out, and the text is
// added in slices, so that a document of 100,000 sentences does not freeze the page.

import { pause, read, waitForServer } from "./api.js";
import { makeBlocks } from "./blocks.js";
import { describeFile, getWebUrl } from "./cite.js";
import { find, make } from "./dom.js";
import { count } from "./numbers.js";
import { makeOffsets } from "./offsets.js";
import { goBack, onView, setTitle } from "./views.js";

const CHUNK = 60; // blocks that are laid out together
const MAX_SENTENCES = 40; // of a paragraph; a text without any would be a single one
const SLICE_MS = 8;
const CHARACTERS_PER_LINE = 75;

let turn = 0;
let shown = null; // { id, at } of the document on the page

export function startReading() {
  find("reading-back").addEventListener("click", goBack);
  onView((view, { id, at }) => (view === "document" ? show(id, at) : turn++));
}

async function show(id, at) {
  const own = ++turn;
  if (shown?.id === id && shown.at === at) return present();
  shown = null;
  renderHead(null, "Loading …");
  try {
    const content = await read(id);
    await pause(0); // each step is a task of its own: the page stays responsive in between
    const pieces = split(content);
    await pause(0);
    if (own !== turn) return;
    shown = { id, at };
    render(content, pieces, at, own);
  } catch (problem) {
    if (own !== turn) return;
    renderHead(null, describe(problem, id));
    if (problem.status !== 0) return;
    await waitForServer();
    if (own === turn) await show(id, at);
  }
}

function describe({ status, message }, id) {
  if (status === 404) return `There is no document ${id}: it was removed, or the link is wrong.`;
  return status === 422 ? `“${id}” is not the number of a document.` : message;
}

function renderHead(content, status) {
  const title = content?.title || content?.name?.split("/").pop() || "Document";
  find("reading-title").textContent = title;
  find("reading-status").textContent = status;
  const change = describeFile(content?.file);
  find("reading-change").textContent = change && `${change} This is its text at that time.`;
  find("reading-about").replaceChildren(...(content ? makeAbout(content) : []));
  find("reading-text").replaceChildren();
  setTitle(content ? title : "");
}

function makeAbout({ name, metadata }) {
  const href = getWebUrl(metadata.url);
  const options = { href, target: "_blank", rel: "noopener noreferrer" };
  const isNew = ([key, value]) => key !== "suffix" && !(key === "folder" && name?.startsWith(value));
  const pairs = Object.entries(metadata).filter(isNew);
  return [
    make("p", { class: "path" }, name),
    href ? make("p", {}, make("a", options, "Open the original")) : null,
    pairs.length ? make("dl", { class: "metadata" }, ...pairs.flatMap(makePair)) : null,
  ].filter(Boolean);
}

const makePair = ([key, value]) => [make("dt", {}, key), make("dd", {}, value)];

function render(content, pieces, at, own) {
  const sentences = content.blocks.reduce((sum, block) => sum + block.sentences.length, 0);
  renderHead(content, count(sentences, "sentence"));
  const chunks = [];
  for (let first = 0; first < pieces.length; first += CHUNK) {
    chunks.push(makeChunk(pieces.slice(first, first + CHUNK)));
  }
  find("reading-text").replaceChildren(...chunks.map(({ element }) => element));
  const toUnit = makeOffsets(content.text);
  const fill = (chunk) => chunk.element.append(...makePieces(chunk.pieces, content.text, toUnit, at));
  const target = at === null ? -1 : chunks.findLastIndex(({ start }) => start <= at);
  const order = [target, target - 1, target + 1, ...chunks.keys()].filter((place) => chunks[place]);
  fillInSlices([...new Set(order)].map((place) => chunks[place]), fill, own);
  present();
}

// The first chunks at once, the others whenever there is time.
function fillInSlices(chunks, fill, own) {
  chunks.splice(0, 3).forEach(fill);
  const step = () => {
    if (own !== turn) {
      if (chunks.length) shown = null; // incomplete: read it again
      return;
    }
    const end = performance.now() + SLICE_MS;
    while (chunks.length && performance.now() < end) fill(chunks.shift());
    if (chunks.length) setTimeout(step, SLICE_MS);
    else find("reading-text").setAttribute("aria-busy", "false");
  };
  find("reading-text").setAttribute("aria-busy", "true");
  setTimeout(step, SLICE_MS);
}

function makeChunk(pieces) {
  const width = ({ start, end }) => Math.ceil((end - start) / CHARACTERS_PER_LINE) + 1;
  const lines = pieces.reduce((sum, piece) => sum + width(piece), 0);
  return { pieces, start: pieces[0].start, element: make("div", { class: "chunk", "--lines": lines }) };
}

// Returns the blocks of a document; long paragraphs are cut between sentences.
function split({ blocks }) {
  let page = null;
  return blocks.flatMap(({ sentences, kind, headings }) => {
    const level = kind === "heading" ? Math.min(6, 3 + headings.length) : null;
    const pieces = [];
    for (let first = 0; first < sentences.length; first += MAX_SENTENCES) {
      const part = sentences.slice(first, first + MAX_SENTENCES);
      const isNew = part[0].page && part[0].page !== page;
      page = part[0].page ?? page;
      pieces.push({ start: part[0].start, end: part.at(-1).end, sentences: part, level, kind, page: isNew ? page : null });
    }
    return pieces;
  });
}

// Returns the elements of pieces, each page below its number.
function makePieces(pieces, text, toUnit, at) {
  const plain = (part) => part;
  // The sentence may be in several cells of a table: the first one is scrolled to.
  let id = "sentence";
  const mark = (part) => {
    const made = make("mark", { id, tabindex: id && "-1" }, part);
    id = null;
    return made;
  };
  const pages = [];
  for (const piece of pieces) {
    if (piece.page || !pages.length) pages.push({ number: piece.page, blocks: [] });
    pages.at(-1).blocks.push(makeBlock(piece, text, toUnit, at));
  }
  return pages.flatMap(({ number, blocks }) => [
    ...(number ? [make("p", { class: "page-number" }, `Page ${number}`)] : []),
    ...makeBlocks(blocks, { plain, mark }),
  ]);
}

function makeBlock({ start, end, sentences, level, kind }, text, toUnit, at) {
  const [first, last] = [toUnit(start), toUnit(end)];
  const marked = at !== null && start <= at && at < end ? sentences.find((own) => at < own.end) : null;
  const range = marked && [toUnit(marked.start) - first, toUnit(marked.end) - first];
  return { kind, level, start, end, range, text: text.slice(first, last) };
}

function present() {
  setTitle(find("reading-title").textContent);
  const sentence = find("sentence");
  if (!sentence) {
    scrollTo(0, 0);
    return find("reading-title").focus({ preventScroll: true });
  }
  sentence.focus({ preventScroll: true });
  // Twice: the chunks above get their real heights when they are first laid out.
  sentence.scrollIntoView({ block: "center" });
  requestAnimationFrame(() => sentence.scrollIntoView({ block: "center" }));
}
