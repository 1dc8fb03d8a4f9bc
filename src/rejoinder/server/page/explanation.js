// Opens and closes the column "How it was found", and remembers which.

import { find } from "./dom.js";

const KEY = "explanation";

export function startExplanation() {
  const button = find("explain");
  button.addEventListener("click", () => show(find("cascade").hidden));
  show(read() === "open");
}

function show(isOpen) {
  find("cascade").hidden = !isOpen;
  find("columns").classList.toggle("explained", isOpen);
  find("explain").setAttribute("aria-expanded", isOpen);
  try {
    localStorage.setItem(KEY, isOpen ? "open" : "closed");
  } catch {
    // The browser stores nothing: the choice is forgotten with the page.
  }
}

function read() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
