// Keyboard shortcuts: arrows move through the answers, Esc returns to the question.

import { reset } from "./ask.js";
import { find } from "./dom.js";

export function startKeyboard() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey && event.key === "Enter" && event.target === find("text")) {
      find("ask").requestSubmit();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]"))
      return;
    const act = pick(event);
    if (act) {
      event.preventDefault();
      act();
    }
  });
}

function pick({ key, target }) {
  if (find("asking").hidden) return null;
  const question = find("question");
  const answers = [...find("results").querySelectorAll(".answer")];
  const article = target.closest?.(".answer");
  if (key === "Escape") return target === question ? clear : () => goTo(question);
  if (target === question)
    return key === "ArrowDown" && answers.length ? () => answers[0].focus() : null;
  if (article) return move(key, answers, answers.indexOf(article), question) ?? markAnswer(key, article);
  return key === "/" && !target.matches?.("input, textarea") ? () => goTo(question) : null;
}

function move(key, answers, place, question) {
  const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: answers.length - 1 }[key];
  if (next === undefined) return null;
  return () => (answers[next] ?? (next < 0 ? question : answers[place])).focus();
}

function markAnswer(key, article) {
  const right = { r: true, w: false }[key.toLowerCase()];
  return right === undefined || !article.mark ? null : () => article.mark(right);
}

function goTo(box) {
  box.focus();
  box.select();
}

function clear() {
  find("question").value = "";
  reset();
}
