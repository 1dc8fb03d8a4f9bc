// Maps the URL to a view, and keeps the browser's history.
//
//   ./?q=QUESTION&where=KEY=VALUE&min_confidence=SHARE   the answers to a question
//   ./?document=ID&at=START         a document, at a sentence
//   ./#ask  ./#text  ./#documents   the views

import { find } from "./dom.js";

const listeners = [];
let views = ["ask", "text", "documents"];
let left = null; // the element that had the focus when the user left the answers

export function getRoute() {
  const query = new URLSearchParams(location.search);
  const named = location.hash.slice(1);
  const hasDocument = query.has("document") && views.includes("documents");
  return {
    view: views.includes(named) ? named : hasDocument ? "document" : views[0],
    question: (query.get("q") ?? "").trim(),
    where: readWhere(query.getAll("where")),
    minConfidence: query.get("min_confidence") ? Number(query.get("min_confidence")) : null,
    id: query.get("document"),
    at: query.has("at") ? Number(query.get("at")) : null,
  };
}

export const getView = () => getRoute().view;

export const onView = (listener) => listeners.push(listener);

// Values of one key are alternatives.
function readWhere(pairs) {
  const where = new Map();
  for (const pair of pairs) {
    const mark = pair.indexOf("=");
    if (mark < 1) continue;
    const key = pair.slice(0, mark);
    where.set(key, new Set([...(where.get(key) ?? []), pair.slice(mark + 1)]));
  }
  return where;
}

export function makeAskUrl({ question, where, minConfidence }) {
  const query = new URLSearchParams(question && { q: question });
  for (const [key, values] of where) {
    for (const value of values) query.append("where", `${key}=${value}`);
  }
  if (minConfidence !== null) query.set("min_confidence", minConfidence);
  const text = query.toString();
  return text ? `./?${text}` : "./#ask";
}

// Shows another view, which "back" leaves again.
export function navigate(url) {
  const { href } = new URL(url, location.href);
  if (href === location.href) return;
  left = document.activeElement;
  history.pushState({ depth: (history.state?.depth ?? 0) + 1 }, "", href);
  render(false);
}

// Returns to the entry before, or to the question if the page was opened here.
export function goBack() {
  if (history.state?.depth) history.back();
  else navigate("./#ask");
}

export function setTitle(text) {
  document.title = text ? `${text} – rejoinder` : "rejoinder";
}

export function startViews({ hasIndex }) {
  if (!hasIndex) views = ["text"];
  for (const link of document.querySelectorAll("[data-view]")) {
    link.hidden = !views.includes(link.dataset.view);
  }
  addEventListener("popstate", () => render(true));
  addEventListener("click", follow);
  render(false);
}

// Links inside the page do not load it again.
function follow(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const isOurs = link.origin === location.origin && link.pathname === location.pathname;
  if (!isOurs || link.target) return;
  event.preventDefault();
  navigate(link.href);
}

function render(isReturn) {
  const route = getRoute();
  const { view } = route;
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  find("asking").hidden = !["ask", "text"].includes(view);
  find("documents").hidden = view !== "documents";
  find("reading").hidden = view !== "document";
  find("pasting").hidden = view !== "text";
  if (view !== "document") setTitle(view === "ask" ? route.question : "");
  for (const listener of listeners) listener(view, route);
  if (!isReturn && view !== "document") scrollTo(0, 0);
  if (isReturn && left?.isConnected && left.checkVisibility()) left.focus({ preventScroll: true });
}
