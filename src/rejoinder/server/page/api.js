// Calls the server that this page came from.

const TRIES = 3;

let key = sessionStorage.getItem("key");

export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status; // 0 where the server did not answer at all
  }
}

export function setKey(value) {
  key = value;
  sessionStorage.setItem("key", value);
}

export const getInfo = () => call("GET", "info");
export const answer = (request, signal) => call("POST", "v1/answer", request, signal);
export const mark = (request) => call("POST", "v1/feedback", request);
export const remove = (id) => call("DELETE", `v1/documents/${id}`);
export const list = (parameters) => call("GET", `v1/documents?${new URLSearchParams(parameters)}`);
export const isAlive = () =>
  fetch("health").then(
    (response) => response.ok,
    () => false,
  );

async function call(method, path, body, signal) {
  for (let tries = 1; ; tries++) {
    const response = await send(method, path, body, signal);
    const busy = response.status === 429 || response.status === 503;
    if (!busy || tries === TRIES) return read(response);
    await pause(1000 * Number(response.headers.get("retry-after") || 1), signal);
  }
}

async function send(method, path, body, signal) {
  const headers = { ...unlock(), ...(body && { "content-type": "application/json" }) };
  try {
    return await fetch(path, { method, headers, signal, body: body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer.", 0);
  }
}

async function read(response) {
  let value = null;
  try {
    value = await response.json();
  } catch {
    throw new Problem("The server went away while it answered.", 0);
  }
  if (response.ok) return value;
  throw new Problem(value.error ?? `status ${response.status}`, response.status);
}

// fetch cannot tell how much of a file has gone out; this can.
export function upload(file, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `v1/documents?${new URLSearchParams({ name: file.name })}`);
    for (const [name, value] of Object.entries(unlock())) request.setRequestHeader(name, value);
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

export const unlock = () => (key ? { authorization: `Bearer ${key}` } : {});

export function pause(wait, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, wait);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("given up", "AbortError"));
    });
  });
}
