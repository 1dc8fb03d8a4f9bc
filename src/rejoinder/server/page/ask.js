// Asks: the index or a text, and again whenever the budget moves.

import { showAnswers } from "./answers.js";
import { answer, list } from "./api.js";
import { showCascade } from "./cascade.js";
import { compare, describe } from "./changes.js";
import { waitForServer } from "./connection.js";
import { find, make } from "./dom.js";
import { markSpent } from "./frontier.js";
import { bytes, count, milliseconds } from "./numbers.js";
import { getText } from "./paste.js";
import { getView, onView } from "./views.js";
import { showWords } from "./words.js";

const TOP = 5;
const BUDGETS = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, null];
const ROOM = 200; // bytes of a request beside its question and text
const HINT = "Move it, and the question is asked again.";
const SETTLE = 120; // milliseconds for which the slider must rest

let info;
let turn = 0;
let running = null;
let asked = null; // what the answers on the page were asked with
let shown = null;

export function startAsking(known) {
  info = known;
  const slider = find("budget");
  slider.max = BUDGETS.length - 1;
  slider.value = slider.max;
  showBudget();
  showCascade(info.stages, {});
  find("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    ask({ question: find("question").value.trim(), text: getView() === "text" ? getText() : null });
  });
  let timer;
  slider.addEventListener("input", () => {
    showBudget();
    clearTimeout(timer);
    timer = setTimeout(() => asked && ask(asked), SETTLE);
  });
  onView(prepare);
}

// Asks; whatever was asked before is given up, and can no longer show anything.
export async function ask(request) {
  const own = ++turn;
  running?.abort();
  running = new AbortController();
  const problem = check(request);
  if (problem) return tell(problem);
  find("found").setAttribute("aria-busy", "true");
  try {
    const budget_ms = getBudget();
    const found = await answer({ ...request, budget_ms, top: TOP, explain: true }, running.signal);
    if (own === turn) show({ ...request, budget_ms }, found);
  } catch (error) {
    if (own !== turn || error.name === "AbortError") return;
    tell(`${error.message} Your question is kept.`);
    if (error.status === 0) {
      await waitForServer();
      if (own === turn) await ask(request);
    }
  } finally {
    if (own === turn) find("found").setAttribute("aria-busy", "false");
  }
}

// Back to an empty page, and nothing on its way.
export function forget() {
  turn++;
  running?.abort();
  asked = shown = null;
  find("found").replaceChildren();
  find("found").setAttribute("aria-busy", "false");
  showWords(find("words"), null);
  tell("\u00a0");
  invite(getView());
}

function check({ question, text }) {
  if (!question) return "Type a question first.";
  if (question.length > info.max_question_characters) return "This question is too long.";
  if (text === null) return null;
  if (!text.trim()) return "Paste a text to answer from.";
  const most = info.max_body_bytes;
  const isTooLong = new Blob([JSON.stringify({ question, text })]).size + ROOM > most;
  return isTooLong ? `This text is longer than ${bytes(most)}, which is the most here.` : null;
}

function show(request, found) {
  const before = isOtherBudget(request) ? shown : null;
  asked = request;
  shown = found;
  const place = find("found");
  const hadFocus = place.contains(document.activeElement);
  showAnswers(place, found, {
    changes: compare(before, found),
    canMark: request.text === null,
    threshold: info.threshold,
    tell,
    onChoose: choose,
  });
  if (hadFocus) place.querySelector(".answer")?.focus();
  showWords(find("words"), found.answers[0] ?? found.closest);
  showCascade(info.stages, { found, isText: request.text !== null });
  markSpent(found.milliseconds);
  find("changes").textContent = before ? describe(before, found) : HINT;
  tell(summarize(found));
}

// Whether the same was asked before, with more time or less.
function isOtherBudget({ question, text, budget_ms }) {
  const isSame = asked?.question === question && asked.text === text;
  return isSame && asked.budget_ms !== budget_ms;
}

function summarize(found) {
  const ranked = `of ${count(found.retrieved, "sentence")} in ${milliseconds(found.milliseconds)}`;
  return found.answers.length ? `The best ${found.answers.length} ${ranked}` : `None ${ranked}`;
}

function choose(article, chosen) {
  for (const other of find("found").querySelectorAll(".answer")) other.tabIndex = -1;
  article.tabIndex = 0;
  showWords(find("words"), chosen);
}

const tell = (text) => {
  find("status").textContent = text;
};

const getBudget = () => BUDGETS[find("budget").value];

function showBudget() {
  const budget = getBudget();
  const none = info.budget_ms === null ? "no limit" : `the server's ${info.budget_ms} ms`;
  const said = budget === null ? none : `${budget} ms`;
  find("budget-shown").textContent = said;
  find("budget").setAttribute("aria-valuetext", said);
}

function prepare(view) {
  if (view === "documents") return;
  const box = find("question");
  box.placeholder = view === "text" ? "Ask the text a question" : "Ask your documents a question";
  if (asked && (asked.text === null) !== (view === "ask")) forget();
  else if (!asked) invite(view);
  box.focus();
}

async function invite(view) {
  showCascade(info.stages, { isText: view === "text" });
  find("changes").textContent = HINT;
  const place = find("found");
  place.replaceChildren(make("p", { class: "plain invitation" }, "\u00a0"));
  const own = turn;
  const said =
    view === "text"
      ? "Any text and a question: the sentence that answers, in its place."
      : await welcome();
  if (own === turn && view === getView() && !shown)
    place.firstChild.replaceChildren(...[said].flat());
}

async function welcome() {
  try {
    const { total } = await list({ limit: 1 });
    if (!total)
      return ["There are no documents yet. ", make("a", { href: "#documents" }, "Add some"), "."];
    return `One sentence that answers, out of ${count(total, "document")}.`;
  } catch {
    return "One sentence that answers, out of your documents.";
  }
}
