// Uploads files one by one, and renders the outcome of each.

import { pause, upload, waitForServer } from "./api.js";
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
  const chooser = find("files");
  find("choose").addEventListener("click", () => chooser.click());
  chooser.addEventListener("change", () => {
    add([...chooser.files].map((file) => ({ file })));
    chooser.value = "";
  });
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
    const dropped = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    if (!dropped.length) return;
    navigate("./#documents");
    add(
      dropped.map((item) => ({
        file: item.getAsFile(),
        isFolder: item.webkitGetAsEntry()?.isDirectory,
      })),
    );
  });
}

function add(items) {
  if (!items.length) return;
  find("uploads").hidden = false;
  for (const { file, isFolder } of items) {
    const row = makeRow(file.name);
    if (isFolder) row.end("skipped", "skipped: a folder; drop the files in it");
    else if (file.size > maxBytes) row.end("skipped", `skipped: larger than ${bytes(maxBytes)}`);
    else waiting.push({ file, row });
    find("uploads-list").append(row.element);
  }
  summarize();
  if (!isSending) sendAll();
}

async function sendAll() {
  isSending = true;
  while (waiting.length) {
    const { file, row } = waiting.shift();
    await sendOne(file, row);
    summarize();
  }
  isSending = false;
  refresh();
}

async function sendOne(file, row) {
  for (;;) {
    try {
      const event = await upload(file, row.progress);
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
  const bar = make("progress", { max: 1, value: 0, "aria-label": `Sending ${name}` });
  const element = make("li", {}, make("span", { class: "title" }, name), bar, state);
  return {
    element,
    progress(share) {
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
}
