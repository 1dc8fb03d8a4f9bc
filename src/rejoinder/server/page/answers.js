// Shows answers: the sentence inside its neighbours, where it stands, and how sure it is.

import { make } from "./dom.js";
import { makeButtons } from "./feedback.js";
import { percent } from "./numbers.js";
import { shade } from "./words.js";

export function showAnswers(place, found, { changes, canMark, threshold, tell, onChoose }) {
  const own = { question: found.question, canMark, tell, onChoose };
  if (found.answers.length) {
    const items = found.answers.map((answer, place) =>
      make("li", {}, makeAnswer(answer, { ...own, change: changes[place] })),
    );
    place.replaceChildren(make("ol", { class: "answers", "aria-label": "Answers" }, ...items));
  } else if (found.closest) {
    place.replaceChildren(...abstain(found, threshold, own));
  } else {
    place.replaceChildren(
      make("p", { class: "plain" }, "No sentence shares a word with this question."),
    );
  }
  place.querySelector(".answer")?.setAttribute("tabindex", "0");
}

function abstain(found, threshold, own) {
  const sure = percent(found.confidence ?? 0);
  const wanted = threshold === null ? "" : `; an answer needs ${percent(threshold)}`;
  return [
    make("p", { class: "plain" }, "No sentence answers this."),
    make("p", { class: "quiet" }, `The closest one is ${sure} likely to${wanted}:`),
    make("div", { class: "closest" }, makeAnswer(found.closest, own)),
  ];
}

function makeAnswer(answer, { question, canMark, tell, onChoose, change }) {
  const buttons = canMark ? makeButtons(question, answer.sentence, tell) : null;
  const article = make(
    "article",
    {
      class: "answer",
      tabindex: "-1",
      "aria-label": `Answer ${answer.rank}`,
      focusin: () => onChoose(article, answer),
    },
    make(
      "p",
      { class: "passage" },
      makeNeighbour(answer.before),
      " ",
      make("mark", {}, ...shade(answer.sentence, answer.matches)),
      " ",
      isHeading(answer.after) ? null : makeNeighbour(answer.after),
    ),
    make(
      "div",
      { class: "about" },
      change ? make("span", { class: "moved" }, change) : null,
      makeConfidence(answer.confidence),
      make("span", { class: "source" }, ...locate(answer.source)),
      buttons,
    ),
  );
  article.say = buttons?.say;
  return article;
}

function makeNeighbour(sentence) {
  if (!sentence) return null;
  return make("span", { class: isHeading(sentence) ? "around heading" : "around" }, sentence);
}

// A heading has no full stop.  It belongs to what follows, on a line of its own.
const isHeading = (sentence) => !/[\p{P}\p{S}]$/u.test(sentence);

function makeConfidence(confidence) {
  if (confidence === null) return null;
  return make(
    "span",
    { class: "confidence", "--share": confidence.toFixed(3) },
    make("span", { class: "confidence-bar", "aria-hidden": true }),
    `${percent(confidence)} sure`,
  );
}

function locate({ document, title, line, page }) {
  const where = page ? `page ${page}` : line ? `line ${line}` : "";
  if (!document) return [where];
  const name = document.split("/").pop();
  return [
    make("cite", { title: document }, title || name),
    make("span", { class: "file" }, [title ? name : "", where].filter(Boolean).join(", ")),
  ];
}
