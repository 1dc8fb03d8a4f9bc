// Keyboard shortcuts: Enter asks, arrows move through the answers, Esc returns.

import { clear } from "./ask.js";
import { find } from "./dom.js";
import { getView, goBack } from "./views.js";

export function startKeyboard() {
  addEventListener("keydown", (event) => {
    if (event.isComposing) return; // Enter chooses a word of an input method
    if (isSubmit(event)) {
      event.preventDefault();
      return find("ask").requestSubmit();
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

function isSubmit({ key, target, ctrlKey, shiftKey }) {
  if (key !== "Enter") return false;
  return target === find("question") ? !shiftKey : ctrlKey && target === find("text");
}

function pick({ key, target }) {
  if (getView() === "document") return key === "Escape" ? goBack : null;
  if (find("asking").hidden) return null;
  const question = find("question");
  const answers = [...find("results").querySelectorAll(".answer")];
  const article = target.closest?.(".answer");
  if (key === "Escape") return target === question ? clear : () => goTo(question);
  if (target === question) {
    const isAtEnd = question.selectionEnd === question.value.length;
    return key === "ArrowDown" && isAtEnd && answers.length ? () => answers[0].focus() : null;
  }
  if (article) return move(key, answers, answers.indexOf(article), question) ?? act(key, target, article);
  return key === "/" && !target.matches?.("input, textarea") ? () => goTo(question) : null;
}

function move(key, answers, place, question) {
  const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: answers.length - 1 }[key];
  if (next === undefined) return null;
  return () => (answers[next] ?? (next < 0 ? question : answers[place])).focus();
}

function act(key, target, article) {
  if (key === "Enter") return target === article ? article.open : null;
  if (key.toLowerCase() === "c") return article.copyAnswer;
  const right = { r: true, w: false }[key.toLowerCase()];
  return right === undefined || !article.mark ? null : () => article.mark(right);
}

function goTo(box) {
  box.focus();
  box.select();
}
