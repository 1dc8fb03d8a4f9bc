// How sure an answer must be: as sure as the scorer finds usual, or the user's own threshold.

import { submit } from "./ask.js";
import { find } from "./dom.js";
import { percent } from "./numbers.js";

const DEBOUNCE_MS = 300;

const START = 0.25; // where the slider stands while the scorer decides by another figure

let hasConfidence = false;
let usual = null; // the scorer's threshold; null if it decides by another figure
let chosen = null;

// The user's threshold; null for the scorer's decision.
export const getMinConfidence = () => chosen;

// The threshold that counts; null if the scorer decides by another figure.
export const getThreshold = () => chosen ?? usual;

export function setMinConfidence(share) {
  chosen = !hasConfidence || share === null || !(share >= 0 && share <= 1) ? null : share;
  render();
}

export function startSureness(info) {
  usual = info.threshold;
  hasConfidence = info.has_confidence;
  find("sureness").hidden = !hasConfidence;
  if (!hasConfidence) return;
  let timer;
  find("least").addEventListener("input", ({ target }) => {
    setMinConfidence(Number(target.value) / 100);
    clearTimeout(timer);
    timer = setTimeout(askAgain, DEBOUNCE_MS);
  });
  find("ask").addEventListener("submit", () => clearTimeout(timer)); // this question has the threshold
  find("usual").addEventListener("click", () => {
    setMinConfidence(null);
    find("least").focus(); // the button goes away
    askAgain();
  });
  find("usual").textContent = `Back to the usual${usual === null ? "" : ` ${percent(usual)}`}`;
  render();
}

function askAgain() {
  if (find("question").value.trim()) submit();
}

function render() {
  if (!hasConfidence) return;
  const threshold = getThreshold();
  const shown = threshold === null ? "as usual" : percent(threshold);
  find("sureness").classList.toggle("chosen", chosen !== null);
  find("least-summary").textContent = threshold === null ? "As sure as usual" : `At least ${shown} sure`;
  find("least").value = Math.round(100 * (threshold ?? START));
  find("least").setAttribute("aria-valuetext", shown);
  find("least-shown").textContent = shown;
  find("usual").hidden = chosen === null;
}
