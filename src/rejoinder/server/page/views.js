// Switches to the view that the URL's fragment names.

import { find } from "./dom.js";

const listeners = [];
let views = ["ask", "text", "documents"];

export const getView = () => {
  const named = location.hash.slice(1);
  return views.includes(named) ? named : views[0];
};

export const onView = (listener) => listeners.push(listener);

export function startViews({ hasIndex }) {
  if (!hasIndex) views = ["text"];
  for (const link of document.querySelectorAll("[data-view]")) {
    link.hidden = !views.includes(link.dataset.view);
  }
  addEventListener("hashchange", render);
  render();
}

function render() {
  const view = getView();
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  find("asking").hidden = view === "documents";
  find("documents").hidden = view !== "documents";
  find("pasting").hidden = view !== "text";
  for (const listener of listeners) listener(view);
}
