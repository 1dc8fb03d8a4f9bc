// Tells when the server has gone away, and when it is back.

import { isAlive, pause } from "./api.js";
import { find } from "./dom.js";

const EVERY = 1000;

let watching = null;

// Returns when the server answers again.
export function waitForServer() {
  watching ??= watch().finally(() => (watching = null));
  return watching;
}

async function watch() {
  const banner = find("connection");
  banner.textContent = "The server does not answer. What you typed is kept; trying again …";
  banner.hidden = false;
  do await pause(EVERY);
  while (!(await isAlive()));
  banner.hidden = true;
}
