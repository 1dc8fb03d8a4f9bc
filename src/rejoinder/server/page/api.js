// Calls the server that this page came from, waits while it is down, and asks for its API key.

import { find } from "./dom.js";

const TRIES = 3;
const POLL_MS = 1000;

let key = sessionStorage.getItem("key"); // forgotten with the tab
let polling = null;

export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status; // 0 if the server did not answer
  }
}

const getInfo = () => call("GET", "info");
export const answer = (request, signal) => call("POST", "v1/answer", request, signal);
export const mark = (request) => call("POST", "v1/feedback", request);
export const facets = () => call("GET", "v1/documents/facets");
export const read = (id) => call("GET", `v1/documents/${encodeURIComponent(id)}`);
export const removeAll = (ids) =>
  call("DELETE", `v1/documents?${new URLSearchParams(ids.map((id) => ["id", id]))}`);
export const list = (parameters) => call("GET", `v1/documents?${new URLSearchParams(parameters)}`);
const isAlive = () =>
  fetch("health").then(
    (response) => response.ok,
    () => false,
  );

async function call(method, path, body, signal) {
  for (let tries = 1; ; tries++) {
    const response = await send(method, path, body, signal);
    const busy = response.status === 429 || response.status === 503;
    if (!busy || tries === TRIES) return decode(response);
    await pause(1000 * Number(response.headers.get("retry-after") || 1), signal);
  }
}

async function send(method, path, body, signal) {
  const headers = { ...authorize(), ...(body && { "content-type": "application/json" }) };
  try {
    return await fetch(path, { method, headers, signal, body: body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer.", 0);
  }
}

async function decode(response) {
  let value = null;
  try {
    value = await response.json();
  } catch {
    throw new Problem("The connection was lost during the reply.", 0);
  }
  if (response.ok) return value;
  throw new Problem(value.error ?? `status ${response.status}`, response.status);
}

// fetch does not report the progress of an upload; XMLHttpRequest does.
export function upload(file, name, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `v1/documents?${new URLSearchParams({ name })}`);
    for (const [name, value] of Object.entries(authorize())) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => onProgress(event.loaded / (event.total || 1));
    request.onerror = () => reject(new Problem("The server does not answer.", 0));
    request.onload = () => {
      const value = request.response;
      if (request.status === 200 && value) resolve(value);
      else reject(new Problem(value?.error ?? `status ${request.status}`, request.status));
    };
    request.responseType = "json";
    request.send(file);
  });
}

const authorize = () => (key ? { authorization: `Bearer ${key}` } : {});

export function pause(wait, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, wait);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("aborted", "AbortError"));
    });
  });
}

// Resolves when the server answers again.
export function waitForServer() {
  polling ??= poll().finally(() => (polling = null));
  return polling;
}

async function poll() {
  const banner = find("connection");
  banner.textContent = "The server does not answer. Your input is kept; retrying …";
  banner.hidden = false;
  do await pause(POLL_MS);
  while (!(await isAlive()));
  banner.hidden = true;
}

// Returns the server's /info; asks the user for a key if the server needs one.
export async function connect() {
  for (;;) {
    try {
      return await getInfo();
    } catch (problem) {
      if (problem.status === 401) await askForKey(problem.message);
      else await waitForServer();
    }
  }
}

function askForKey(problem) {
  const dialog = find("unlocking");
  find("unlocking-problem").textContent = problem;
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        key = find("key").value;
        sessionStorage.setItem("key", key);
        find("key").value = "";
        resolve();
      },
      { once: true },
    );
  });
}
