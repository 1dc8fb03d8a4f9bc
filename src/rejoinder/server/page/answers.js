// Renders answers: where each is from, the sentence in its context, and what to do with it.

import { cite, copy, describeFile, getFile, getWebUrl, makeSource } from "./cite.js";
import { makeContext } from "./context.js";
import { make } from "./dom.js";
import { makeButtons } from "./feedback.js";
import { shade } from "./highlight.js";
import { milliseconds, percent } from "./numbers.js";

const SHOWN_SOURCES = 2;

export function renderAnswers(place, reply, { changes, canMark, isFiltered, threshold, setStatus, onChoose }) {
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
    const which = isFiltered ? "No sentence of the chosen documents" : "No sentence";
    place.replaceChildren(make("p", { class: "plain" }, `${which} matches this question.`));
  }
  if (reply.note) place.prepend(make("p", { class: "quiet note" }, `Note: ${reply.note}.`));
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
  const copyAnswer = () =>
    copy(cite(answer)).then(
      () => setStatus("Copied with its source."),
      (problem) => setStatus(`Not copied: ${problem.message}`),
    );
  const label = "Copy answer with citation";
  const copyButton = make(
    "button",
    { type: "button", class: "copy", title: label, "aria-label": label, "aria-keyshortcuts": "C", click: copyAnswer },
    "Copy",
  );
  const source = makeSource(answer.source);
  const article = make(
    "article",
    {
      class: "answer",
      tabindex: "-1",
      "aria-label": `Answer ${answer.rank}`,
      focusin: () => onChoose(article, answer),
    },
    source ? make("p", { class: "origin" }, source) : null,
    make("div", { class: "passage" }, ...makePassage(answer, question)),
    make(
      "div",
      { class: "about" },
      change ? make("span", { class: "moved" }, change) : null,
      makeConfidence(answer.confidence),
      make("span", { class: "file" }, getFile(answer.source)),
      makeOriginal(answer.source),
      make("span", { class: "actions-inline" }, copyButton, buttons),
    ),
    makeWarning(answer.source),
    makeOtherSources(answer.other_sources ?? []),
  );
  Object.assign(article, { mark: buttons?.mark, copyAnswer, open: () => source?.click() });
  return article;
}

function makePassage(answer, question) {
  const shadeOwn = (text) => shade(text, answer.matches, question);
  return makeContext(answer, shadeOwn) ?? [make("p", {}, make("mark", {}, ...shadeOwn(answer.sentence)))];
}

function makeConfidence(confidence) {
  if (confidence === null) return null;
  return make(
    "span",
    { class: "confidence", "--share": confidence.toFixed(3) },
    make("span", { class: "confidence-bar", "aria-hidden": true }),
    `${percent(confidence)} sure`,
  );
}

function makeOriginal({ url }) {
  const href = getWebUrl(url);
  if (!href) return null;
  const options = { class: "original", href, target: "_blank", rel: "noopener noreferrer" };
  return make("a", options, "Open the original");
}

function makeWarning({ file }) {
  const change = describeFile(file);
  return change ? make("p", { class: "warning" }, change) : null;
}

function makeOtherSources(sources) {
  if (!sources.length) return null;
  const items = sources.map((source) =>
    make("li", {}, makeSource(source), " ", make("span", { class: "file" }, getFile(source)), makeWarning(source)),
  );
  const list = make("ul", { class: "also" }, ...items);
  if (sources.length <= SHOWN_SOURCES) {
    return make("div", { class: "others" }, make("span", {}, "Also in"), list);
  }
  const summary = make("summary", {}, `Also in ${sources.length} other places`);
  return make("details", { class: "others" }, summary, list);
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
