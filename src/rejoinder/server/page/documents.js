// The list of documents, page by page: ten thousand are as fast as ten.

import { list, remove, waitForServer } from "./api.js";
import { find, make } from "./dom.js";
import { bytes, count, formatNumber } from "./numbers.js";
import { getView, onView } from "./views.js";

const PAGE_SIZE = 50;
const DEBOUNCE_MS = 200;

let starts = [0]; // the `after` of each page up to the current one
let next = null;
let turn = 0;

export function startDocuments() {
  onView((view) => view === "documents" && refresh());
  find("older").addEventListener("click", () => loadPage([...starts, next]));
  find("newer").addEventListener("click", () => loadPage(starts.slice(0, -1)));
  let timer;
  find("filter").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => loadPage([0]), DEBOUNCE_MS);
  });
}

export const refresh = () => (getView() === "documents" ? loadPage(starts) : null);

async function loadPage(pages) {
  const own = ++turn;
  const request = { after: pages[pages.length - 1], limit: PAGE_SIZE, contains: find("filter").value };
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
  find("documents-list").replaceChildren(...documents.map(makeRow));
}

function makeRow(document) {
  const name = document.title || document.name.split("/").pop();
  const facts = `${count(document.sentences, "sentence")}, ${bytes(document.bytes)}`;
  return make(
    "li",
    {},
    make("span", { class: "title" }, name),
    make("span", { class: "path", title: document.name }, document.name),
    make("span", { class: "facts" }, facts),
    make("span", { class: `state ${document.state}` }, document.state),
    make(
      "button",
      { type: "button", "aria-label": `Remove ${name}`, click: () => confirm(document, name) },
      "Remove",
    ),
  );
}

function confirm(document, name) {
  const dialog = find("removing");
  notice("");
  find("removing-name").textContent = name;
  dialog.returnValue = "cancel";
  dialog.onclose = () => dialog.returnValue === "remove" && drop(document, name);
  dialog.showModal();
}

async function drop(document, name) {
  try {
    await remove(document.id);
  } catch (problem) {
    return notice(`${name} was not removed: ${problem.message}`);
  }
  notice(`${name} was removed.`);
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
