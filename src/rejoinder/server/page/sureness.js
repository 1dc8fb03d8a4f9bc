// How sure an answer must be: the server's threshold, or the user's own.

import { submit } from "./ask.js";
import { find } from "./dom.js";
import { percent } from "./numbers.js";

const DEBOUNCE_MS = 300;

let usual = null; // the server's threshold; null without a calibrated scorer
let chosen = null;

// The user's threshold; null for the server's.
export const getMinConfidence = () => chosen;

// The threshold that counts.
export const getThreshold = () => chosen ?? usual;

export function setMinConfidence(share) {
  chosen = usual === null || share === null || !(share >= 0 && share <= 1) ? null : share;
  render();
}

export function startSureness(info) {
  usual = info.threshold;
  find("sureness").hidden = usual === null;
  if (usual === null) return;
  let timer;
  find("least").addEventListener("input", ({ target }) => {
    setMinConfidence(Number(target.value) / 100);
    clearTimeout(timer);
    timer = setTimeout(askAgain, DEBOUNCE_MS);
  });
  find("usual").addEventListener("click", () => {
    setMinConfidence(null);
    find("least").focus(); // the button goes away
    askAgain();
  });
  find("usual").textContent = `Back to the usual ${percent(usual)}`;
  render();
}

function askAgain() {
  if (find("question").value.trim()) submit();
}

function render() {
  if (usual === null) return;
  const shown = percent(getThreshold());
  find("sureness").classList.toggle("chosen", chosen !== null);
  find("least-summary").textContent = `At least ${shown} sure`;
  find("least").value = Math.round(100 * getThreshold());
  find("least").setAttribute("aria-valuetext", shown);
  find("least-shown").textContent = shown;
  find("usual").hidden = chosen === null;
}
