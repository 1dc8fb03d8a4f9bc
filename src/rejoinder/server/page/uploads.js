// Uploads files one by one, and renders the outcome of each.

import { pause, upload, waitForServer } from "./api.js";
import { expire } from "./ask.js";
import { refresh } from "./documents.js";
import { find, make } from "./dom.js";
import { bytes, count } from "./numbers.js";
import { navigate } from "./views.js";

const waiting = [];
const results = { added: 0, changed: 0, unchanged: 0, skipped: 0 };
let isSending = false;
let maxBytes;

export function startUploads({ max_upload_bytes }) {
  maxBytes = max_upload_bytes;
  for (const [button, id] of [["choose", "files"], ["choose-folder", "folder"]]) {
    const chooser = find(id);
    find(button).addEventListener("click", () => chooser.click());
    chooser.addEventListener("change", () => {
      const items = [...chooser.files].map((file) => ({ file, name: file.webkitRelativePath || file.name }));
      add(items.sort((one, other) => one.name.localeCompare(other.name)));
      chooser.value = "";
    });
  }
  // Anywhere on the page: a file dropped beside the box must not replace the page.
  addEventListener("dragover", (event) => {
    event.preventDefault();
    find("drop").classList.add("over");
  });
  addEventListener("dragleave", () => find("drop").classList.remove("over"));
  addEventListener("drop", (event) => {
    if (event.target === find("text")) return;
    event.preventDefault();
    find("drop").classList.remove("over");
    const items = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    if (!items.length) return;
    navigate("./#documents");
    // At once: the items are gone when the event has ended.
    const entries = items.map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
    for (const { entry, file } of entries) {
      if (entry?.isDirectory) addFolder(entry);
      else add([{ file, name: file.name }]);
    }
  });
}

// Adds the files of a dropped folder, and of the folders in it.
async function addFolder(folder) {
  const reader = folder.createReader();
  for (;;) {
    const entries = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (!entries.length) return; // it returns some at a time
    for (const entry of entries) {
      if (entry.isDirectory) await addFolder(entry);
      else {
        const file = await new Promise((resolve) => entry.file(resolve, () => resolve(null)));
        if (file) add([{ file, name: entry.fullPath.replace(/^\//u, "") }]);
      }
    }
  }
}

// Files and folders whose name begins with a dot are those of programs.
const isHidden = (name) => name.includes("/") && name.split("/").some((part) => part.startsWith("."));

function add(items) {
  const shown = items.filter(({ name }) => !isHidden(name));
  if (!shown.length) return;
  find("uploads").hidden = false;
  for (const { file, name } of shown) {
    const row = makeRow(name);
    if (file.size > maxBytes) row.end("skipped", `skipped: larger than ${bytes(maxBytes)}`);
    else waiting.push({ file, name, row });
    find("uploads-list").append(row.element);
  }
  summarize();
  if (!isSending) sendAll();
}

async function sendAll() {
  isSending = true;
  while (waiting.length) {
    const { file, name, row } = waiting[0];
    await sendOne(file, name, row);
    waiting.shift();
    summarize();
  }
  isSending = false;
  refresh();
}

async function sendOne(file, name, row) {
  row.progress(0);
  for (;;) {
    try {
      const event = await upload(file, name, row.progress);
      expire();
      return row.end(event.what, describe(event));
    } catch (problem) {
      if (problem.status === 429 || problem.status === 503) await pause(1000);
      else if (problem.status === 0) await waitForServer();
      else return row.end("skipped", `skipped: ${problem.message}`);
    }
  }
}

function describe({ what, sentences, reason }) {
  if (what === "skipped") return `skipped: ${reason}`;
  return what === "unchanged" ? "unchanged" : `${what}: ${count(sentences, "sentence")}`;
}

function makeRow(name) {
  const state = make("span", { class: "result" }, "waiting");
  const bar = make("progress", { max: 1, value: 0, hidden: true, "aria-label": `Sending ${name}` });
  const element = make("li", {}, make("span", { class: "title" }, name), bar, state);
  return {
    element,
    progress(share) {
      bar.hidden = false;
      bar.value = share;
      state.textContent = share < 1 ? "sending" : "reading";
      if (share === 1) bar.removeAttribute("value");
    },
    end(kind, text) {
      results[kind]++;
      bar.remove();
      element.className = kind;
      state.textContent = text;
    },
  };
}

function summarize() {
  const counts = Object.entries({ ...results, waiting: waiting.length });
  const parts = counts.filter(([, number]) => number).map(([what, number]) => `${number} ${what}`);
  find("uploads-status").textContent = parts.join(", ");
  const done = Object.values(results).reduce((sum, number) => sum + number);
  const bar = find("uploads-progress");
  bar.max = done + waiting.length;
  bar.value = done;
  bar.hidden = bar.max < 2 || done === bar.max;
}
