// Filters of the ask view: which folders, types of files and other metadata to search.

import { facets } from "./api.js";
import { submit } from "./ask.js";
import { find, make } from "./dom.js";
import { formatNumber } from "./numbers.js";
import { getView, onView } from "./views.js";

const NAMES = new Map([["folder", "Folder"], ["suffix", "Type"]]); // in this order, before the others

let where = new Map(); // key → set of values
let known = []; // the facets of the index
let open = new Set(); // the keys whose values are shown

export const getWhere = () => where;

export function setWhere(next) {
  where = next;
  render();
}

export function startFilters() {
  onView((view) => (view === "ask" ? load() : render()));
}

async function load() {
  try {
    known = (await facets()).facets;
  } catch {
    return; // a question works without filters
  }
  render();
}

function render() {
  const keys = new Map([...NAMES.keys()].map((key) => [key, null]));
  for (const facet of known.filter(isUseful)) keys.set(facet.key, facet.values);
  for (const key of where.keys()) keys.set(key, keys.get(key) ?? []);
  for (const [key, values] of keys) if (!values) keys.delete(key);
  find("filters").hidden = !keys.size || getView() !== "ask";
  find("filters").replaceChildren(...[...keys].map(([key, values]) => makeFacet(key, values)));
}

// One value filters nothing, unless it is a folder; a value for each document is a name.
const isUseful = ({ key, distinct, documents }) =>
  key === "folder" || (distinct > 1 && (distinct <= 20 || distinct < documents / 2));

function makeFacet(key, values) {
  const chosen = where.get(key) ?? new Set();
  const counts = new Map(values.map(({ value, documents }) => [value, documents]));
  for (const value of chosen) if (!counts.has(value)) counts.set(value, null);
  const order = key === "folder" ? [...counts].sort(([one], [other]) => (one < other ? -1 : 1)) : [...counts];
  const format = makeFormat(key, [...counts.keys()]);
  const boxes = order.map(([value, documents]) => makeBox(key, value, format(value), documents));
  const picked = chosen.size ? `: ${[...chosen].map(format).join(", ")}` : "";
  const details = make(
    "details",
    { class: chosen.size ? "facet chosen" : "facet", open: open.has(key), toggle: () => (details.open ? open.add(key) : open.delete(key)) },
    make("summary", {}, `${NAMES.get(key) ?? key}${picked}`),
    make("div", { class: "values" }, ...boxes),
  );
  return details;
}

function makeBox(key, value, shown, documents) {
  const box = make("input", {
    type: "checkbox",
    checked: where.get(key)?.has(value) ?? false,
    change: () => choose(key, value, box.checked),
    "data-filter": `${key}=${value}`,
  });
  const number = documents === null ? null : make("span", { class: "quiet" }, formatNumber(documents));
  return make("label", { title: shown === value ? null : value }, box, make("span", {}, shown), number);
}

// Returns how the values of a key are shown: folders without the part that all of them share.
function makeFormat(key, values) {
  const root = key === "folder" ? findRoot(values) : "";
  return (value) => {
    if (key === "suffix") return value.replace(/^\./u, "") || "none";
    return value.slice(root.length) || value || "none";
  };
}

function findRoot(folders) {
  const parents = folders.map((folder) => folder.split("/").slice(0, -1));
  const [first, ...others] = parents;
  const isShared = (part, place) => others.every((other) => other[place] === part);
  const end = first.findIndex((part, place) => !isShared(part, place));
  const shared = end < 0 ? first : first.slice(0, end);
  return shared.length > 1 ? `${shared.join("/")}/` : "";
}

function choose(key, value, isChosen) {
  const values = new Set(where.get(key) ?? []);
  if (isChosen) values.add(value);
  else values.delete(value);
  const next = new Map([...where, [key, values]]);
  if (!values.size) next.delete(key);
  setWhere(next);
  const boxes = [...document.querySelectorAll("[data-filter]")];
  boxes.find((box) => box.dataset.filter === `${key}=${value}`)?.focus();
  if (find("question").value.trim()) submit();
}
