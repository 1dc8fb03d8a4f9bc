// Renders answers: the sentence between its neighbours, its source, and the confidence.

import { make } from "./dom.js";
import { makeButtons } from "./feedback.js";
import { milliseconds, percent } from "./numbers.js";
import { shade } from "./words.js";

export function renderAnswers(place, reply, { changes, canMark, threshold, setStatus, onChoose }) {
  const own = { question: reply.question, canMark, setStatus, onChoose };
  if (reply.answers.length) {
    const items = reply.answers.map((answer, place) =>
      make("li", {}, makeAnswer(answer, { ...own, change: changes[place] })),
    );
    const list = reply.abstains
      ? { class: "answers closest", "aria-label": "Closest sentences" }
      : { class: "answers", "aria-label": "Answers" };
    const found = make("ol", list, ...items);
    place.replaceChildren(...(reply.abstains ? abstain(reply, threshold) : []), found);
  } else {
    place.replaceChildren(
      make("p", { class: "plain" }, "No sentence matches this question."),
    );
  }
  place.querySelector(".answer")?.setAttribute("tabindex", "0");
}

function abstain(reply, threshold) {
  const confidence = percent(reply.confidence ?? 0);
  const needed = threshold === null ? "" : `; an answer needs ${percent(threshold)}`;
  return [
    make("p", { class: "plain" }, "Nothing here is sure to answer this."),
    make("p", { class: "quiet" }, `The closest one has a confidence of ${confidence}${needed}:`),
  ];
}

function makeAnswer(answer, { question, canMark, setStatus, onChoose, change }) {
  const buttons = canMark ? makeButtons(question, answer.sentence, setStatus) : null;
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
      makeFoundBy(answer.found_by),
      buttons,
    ),
  );
  article.mark = buttons?.mark;
  return article;
}

function makeNeighbour(sentence) {
  if (!sentence) return null;
  return make("span", { class: isHeading(sentence) ? "around heading" : "around" }, sentence);
}

// A heading has no full stop.  It belongs to the text below, on a line of its own.
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

function makeFoundBy(sources) {
  if (!sources.length) return null;
  return make("span", { class: "found-by" }, `found by ${sources.join(" and ")}`);
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

const identify = ({ sentence, source }) =>
  JSON.stringify([sentence, source.document, source.start]);

// Returns how each answer moved against the reply before; empty if it did not.
export function compare(before, now) {
  if (!before) return now.answers.map(() => "");
  const places = new Map(before.answers.map((answer, place) => [identify(answer), place]));
  return now.answers.map((answer, place) => {
    const old = places.get(identify(answer));
    if (old === undefined) return "new";
    return old === place ? "" : `was ${old + 1}`;
  });
}

// Returns one sentence about the change.
export function describeChange(before, now) {
  const moved = compare(before, now).filter(Boolean).length;
  const [first, old] = [now.answers[0], before.answers[0]];
  const times = `${milliseconds(now.milliseconds)} instead of ${milliseconds(before.milliseconds)}`;
  if (now.abstains !== before.abstains) {
    return now.abstains
      ? `Now nothing is sure to answer: ${times}.`
      : `Now there is an answer: ${times}.`;
  }
  if (!first || !old) return `${times}.`;
  const same = identify(first) === identify(old);
  const rest = moved ? `, ${moved} of ${now.answers.length} moved` : ", nothing moved";
  return `${same ? "The same answer" : "Another answer"}${rest}: ${times}.`;
}
