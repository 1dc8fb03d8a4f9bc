// The text of one's own.  A long one is held beside the box: laying it out would stop the page.

import { find, make } from "./dom.js";
import { bytes } from "./numbers.js";

const LONG = 100_000; // characters
const SHOWN = 300;

let held = null;

export const getText = () => held ?? find("text").value;

export function startPaste() {
  const box = find("text");
  box.addEventListener("paste", (event) => {
    const pasted = event.clipboardData.getData("text/plain");
    if (box.value.length + pasted.length <= LONG) return;
    event.preventDefault();
    hold(box.value.slice(0, box.selectionStart) + pasted + box.value.slice(box.selectionEnd));
  });
  // What comes in another way: dropped, or put back by the browser.
  box.addEventListener("input", () => {
    if (box.value.length > LONG) hold(box.value);
  });
}

function hold(text) {
  held = text;
  find("text").value = "";
  show();
  find("question").focus();
}

function show() {
  const card = find("held");
  card.hidden = held === null;
  find("text").hidden = held !== null;
  if (held === null) return;
  const size = new Blob([held]).size;
  card.replaceChildren(
    make("p", { class: "beginning" }, `${held.slice(0, SHOWN)} …`),
    make(
      "p",
      { class: "quiet" },
      `${bytes(size)} of text `,
      make("button", { type: "button", click: drop }, "Take another"),
    ),
  );
}

function drop() {
  held = null;
  show();
  find("text").focus();
}
