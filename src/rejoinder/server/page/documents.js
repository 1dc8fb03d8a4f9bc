// The list of documents, page by page: ten thousand are as fast as ten.

import { list, removeAll, waitForServer } from "./api.js";
import { expire } from "./ask.js";
import { makeDocumentUrl } from "./cite.js";
import { find, make } from "./dom.js";
import { bytes, count, formatNumber } from "./numbers.js";
import { getView, onView } from "./views.js";

const PAGE_SIZE = 50;
const BATCH = 100; // documents that the server removes at once

let starts = [0]; // the `after` of each page up to the current one
let next = null;
let turn = 0;
let rows = []; // the documents on the page
let isFiltering = false;
let hasNewFilter = false; // which the request that runs does not have
const selected = new Map(); // id → name, on all pages

export function startDocuments() {
  onView((view) => view === "documents" && refresh());
  find("older").addEventListener("click", () => loadPage([...starts, next]));
  find("newer").addEventListener("click", () => loadPage(starts.slice(0, -1)));
  find("sort").addEventListener("change", () => loadPage([0]));
  find("select-page").addEventListener("change", (event) => selectPage(event.target.checked));
  find("remove-selected").addEventListener("click", () => confirm(new Map(selected)));
  find("filter").addEventListener("input", filter);
}

export const refresh = () => (getView() === "documents" ? loadPage(starts) : null);

// Filters at once, by one request at a time: while it runs, only the last text waits.
async function filter() {
  hasNewFilter = true;
  if (isFiltering) return;
  isFiltering = true;
  try {
    while (hasNewFilter) {
      hasNewFilter = false;
      await loadPage([0]);
    }
  } finally {
    isFiltering = false;
  }
}

async function loadPage(pages) {
  const own = ++turn;
  const request = {
    after: pages[pages.length - 1],
    limit: PAGE_SIZE,
    contains: find("filter").value,
    sort: find("sort").value,
  };
  try {
    const page = await list(request);
    if (own !== turn) return;
    if (!page.documents.length && pages.length > 1) return loadPage(pages.slice(0, -1));
    starts = pages;
    next = page.next;
    renderPage(page);
  } catch (problem) {
    if (own !== turn) return;
    setStatus(problem.message);
    if (problem.status === 0) {
      await waitForServer();
      if (own === turn) await loadPage(pages);
    }
  }
}

function renderPage({ documents, total }) {
  const first = (starts.length - 1) * PAGE_SIZE + 1;
  const isFiltered = find("filter").value !== "";
  const none = isFiltered ? "No document matches." : "There are no documents yet.";
  setStatus(total ? `${formatNumber(first)}–${formatNumber(first + documents.length - 1)} of ${formatNumber(total)}` : none);
  find("newer").disabled = starts.length === 1;
  find("older").disabled = next === null;
  rows = documents;
  find("documents-list").replaceChildren(...documents.map(makeRow));
  renderSelection();
}

const getName = (document) => document.title || document.name.split("/").pop();

function makeRow(document) {
  const name = getName(document);
  const facts = `${count(document.sentences, "sentence")}, ${bytes(document.bytes)}`;
  const box = make("input", {
    type: "checkbox",
    "aria-label": `Select ${name}`,
    checked: selected.has(document.id),
    change: () => select(document, box.checked),
  });
  return make(
    "li",
    {},
    make("label", { class: "choose" }, box),
    make("a", { class: "title", href: makeDocumentUrl(document.id) }, name),
    make("span", { class: "path", title: document.name }, document.name),
    make("span", { class: "facts" }, facts),
    make("span", { class: `state ${document.state}` }, document.state),
    make(
      "button",
      { type: "button", "aria-label": `Remove ${name}`, click: () => confirm(new Map([[document.id, name]])) },
      "Remove",
    ),
  );
}

function select(document, isSelected) {
  if (isSelected) selected.set(document.id, getName(document));
  else selected.delete(document.id);
  renderSelection();
}

function selectPage(isSelected) {
  for (const document of rows) select(document, isSelected);
  for (const box of find("documents-list").querySelectorAll("input")) box.checked = isSelected;
}

function renderSelection() {
  const here = rows.filter(({ id }) => selected.has(id)).length;
  const all = find("select-page");
  all.checked = here > 0 && here === rows.length;
  all.indeterminate = here > 0 && here < rows.length;
  all.disabled = !rows.length;
  find("remove-selected").hidden = !selected.size;
  find("remove-selected").textContent = `Remove ${count(selected.size, "document")}`;
}

function confirm(documents) {
  const dialog = find("removing");
  const [first] = documents.values();
  const isOne = documents.size === 1;
  notice("");
  find("removing-title").textContent = isOne ? "Remove this document?" : "Remove these documents?";
  find("removing-name").textContent = isOne ? first : `${first} and ${count(documents.size - 1, "other")}`;
  dialog.returnValue = "cancel";
  dialog.onclose = () => dialog.returnValue === "remove" && drop(documents);
  dialog.showModal();
}

async function drop(documents) {
  const ids = [...documents.keys()];
  const what = ids.length === 1 ? documents.get(ids[0]) : count(ids.length, "document");
  try {
    for (let first = 0; first < ids.length; first += BATCH) {
      if (first) notice(`Removed ${first} of ${ids.length} …`);
      const batch = ids.slice(first, first + BATCH);
      await removeAll(batch);
      expire();
      for (const id of batch) selected.delete(id);
    }
    notice(`${what} ${ids.length === 1 ? "was" : "were"} removed.`);
  } catch (problem) {
    notice(`${what} could not be removed: ${problem.message}`);
  }
  await refresh();
  find("filter").focus();
}

const setStatus = (text) => {
  find("documents-status").textContent = text;
};

// On a line of its own: a refresh of the list overwrites its status.
const notice = (text) => {
  find("documents-notice").textContent = text;
};
