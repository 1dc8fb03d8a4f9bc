// The pasted text.  A long one is kept out of the text box: laying it out would freeze the page.

import { find, make } from "./dom.js";
import { bytes } from "./numbers.js";

const MAX_BOX_CHARACTERS = 100_000;
const PREVIEW_CHARACTERS = 300;

let held = null;

export const getText = () => held ?? find("text").value;

export function startPaste() {
  const box = find("text");
  box.addEventListener("paste", (event) => {
    const pasted = event.clipboardData.getData("text/plain");
    if (box.value.length + pasted.length <= MAX_BOX_CHARACTERS) return;
    event.preventDefault();
    hold(box.value.slice(0, box.selectionStart) + pasted + box.value.slice(box.selectionEnd));
  });
  // Text that was dropped, or restored by the browser.
  box.addEventListener("input", () => {
    if (box.value.length > MAX_BOX_CHARACTERS) hold(box.value);
  });
}

function hold(text) {
  held = text;
  find("text").value = "";
  render();
  find("question").focus();
}

function render() {
  const card = find("held");
  card.hidden = held === null;
  find("text").hidden = held !== null;
  if (held === null) return;
  const size = new Blob([held]).size;
  card.replaceChildren(
    make("p", { class: "beginning" }, `${held.slice(0, PREVIEW_CHARACTERS)} …`),
    make(
      "p",
      { class: "quiet" },
      `${bytes(size)} of text `,
      make("button", { type: "button", click: drop }, "Use another text"),
    ),
  );
}

function drop() {
  held = null;
  render();
  find("text").focus();
}
