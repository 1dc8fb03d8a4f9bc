// Filters of the ask view: which types of files and which metadata to search.

import { facets } from "./api.js";
import { submit } from "./ask.js";
import { find, make } from "./dom.js";
import { formatNumber } from "./numbers.js";
import { getView, onView } from "./views.js";

const NAMES = { suffix: "Type" };

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
  const keys = new Map(known.filter(isUseful).map((facet) => [facet.key, facet.values]));
  for (const key of where.keys()) if (!keys.has(key)) keys.set(key, []);
  find("filters").hidden = !keys.size || getView() !== "ask";
  find("filters").replaceChildren(...[...keys].map(([key, values]) => makeFacet(key, values)));
}

// One value filters nothing; a value for each document is a name.
const isUseful = ({ distinct, documents }) => distinct > 1 && (distinct <= 20 || distinct < documents / 2);

function makeFacet(key, values) {
  const chosen = where.get(key) ?? new Set();
  const counts = new Map(values.map(({ value, documents }) => [value, documents]));
  for (const value of chosen) if (!counts.has(value)) counts.set(value, null);
  const boxes = [...counts].map(([value, documents]) => makeBox(key, value, documents));
  const picked = chosen.size ? `: ${[...chosen].map((value) => format(key, value)).join(", ")}` : "";
  const details = make(
    "details",
    { class: chosen.size ? "facet chosen" : "facet", open: open.has(key), toggle: () => (details.open ? open.add(key) : open.delete(key)) },
    make("summary", {}, `${NAMES[key] ?? key}${picked}`),
    make("div", { class: "values" }, ...boxes),
  );
  return details;
}

function makeBox(key, value, documents) {
  const box = make("input", {
    type: "checkbox",
    checked: where.get(key)?.has(value) ?? false,
    change: () => choose(key, value, box.checked),
    "data-filter": `${key}=${value}`,
  });
  const number = documents === null ? null : make("span", { class: "quiet" }, formatNumber(documents));
  return make("label", {}, box, make("span", {}, format(key, value)), number);
}

const format = (key, value) => (key === "suffix" ? value.replace(/^\./u, "") : value) || "none";

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
