// The list of documents, a page at a time, so that ten thousand are as quick as ten.

import { list, remove } from "./api.js";
import { waitForServer } from "./connection.js";
import { find, make } from "./dom.js";
import { bytes, count, show } from "./numbers.js";
import { getView, onView } from "./views.js";

const SIZE = 50;
const SETTLE = 200; // milliseconds for which the filter must rest

let starts = [0]; // where each page up to the shown one begins
let next = null;
let turn = 0;

export function startDocuments() {
  onView((view) => view === "documents" && refresh());
  find("older").addEventListener("click", () => turnTo([...starts, next]));
  find("newer").addEventListener("click", () => turnTo(starts.slice(0, -1)));
  let timer;
  find("filter").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => turnTo([0]), SETTLE);
  });
}

export const refresh = () => (getView() === "documents" ? turnTo(starts) : null);

async function turnTo(wanted) {
  const own = ++turn;
  const request = { after: wanted[wanted.length - 1], limit: SIZE, contains: find("filter").value };
  try {
    const page = await list(request);
    if (own !== turn) return;
    if (!page.documents.length && wanted.length > 1) return turnTo(wanted.slice(0, -1));
    starts = wanted;
    next = page.next;
    showPage(page);
  } catch (problem) {
    if (own !== turn) return;
    tell(problem.message);
    if (problem.status === 0) {
      await waitForServer();
      if (own === turn) await turnTo(wanted);
    }
  }
}

function showPage({ documents, total }) {
  const first = (starts.length - 1) * SIZE + 1;
  const isFiltered = find("filter").value !== "";
  const none = isFiltered ? "No document is called so." : "There are no documents yet.";
  tell(total ? `${show(first)}–${show(first + documents.length - 1)} of ${show(total)}` : none);
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
    return notice(`${name} is still there: ${problem.message}`);
  }
  notice(`${name} is removed.`);
  await refresh();
  find("filter").focus();
}

const tell = (text) => {
  find("documents-status").textContent = text;
};

// On a line of its own: the list may be read anew at any moment, and says its own state.
const notice = (text) => {
  find("documents-notice").textContent = text;
};
