// Asks the index or a text, and asks again when the budget changes.

import { compare, describeChange, renderAnswers } from "./answers.js";
import { answer, list, waitForServer } from "./api.js";
import { renderCascade } from "./cascade.js";
import { find, make } from "./dom.js";
import { getWhere, setWhere } from "./filters.js";
import { markLatency } from "./frontier.js";
import { bytes, count, milliseconds } from "./numbers.js";
import { getText } from "./paste.js";
import { getMinConfidence, getThreshold, setMinConfidence } from "./sureness.js";
import { getRoute, getView, makeAskUrl, navigate, onView } from "./views.js";
import { renderWords } from "./words.js";

const TOP = 5;
const CONTEXT = "paragraph";
const BUDGETS = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, null];
const OVERHEAD = 200; // bytes of a request beside its question and text
const HINT = "Move the slider to ask again.";
const DEBOUNCE_MS = 120;

let info;
let turn = 0;
let running = null;
let lastRequest = null; // of the answers on the page
let lastReply = null;
let isStale = false; // documents have changed since

export function startAsking(serverInfo) {
  info = serverInfo;
  const slider = find("budget");
  slider.max = BUDGETS.length - 1;
  slider.value = slider.max;
  renderBudget();
  renderCascade(info.stages, {});
  find("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  find("question").addEventListener("input", grow);
  addEventListener("resize", grow);
  let timer;
  slider.addEventListener("input", () => {
    renderBudget();
    clearTimeout(timer);
    timer = setTimeout(() => lastRequest && ask(lastRequest), DEBOUNCE_MS);
  });
  onView(prepare);
}

// Asks what the box has.  The question and the filters become the URL; a pasted text does not.
export function submit() {
  const question = find("question").value.trim();
  if (getView() === "text") return ask({ ...makeRequest(question), text: getText(), where: null });
  const url = new URL(makeOwnUrl(question), location.href);
  if (!question || url.href === location.href) return ask(makeRequest(question));
  navigate(url.href);
}

const makeOwnUrl = (question) =>
  makeAskUrl({ question, where: getWhere(), minConfidence: getMinConfidence() });

const makeRequest = (question) => ({
  question,
  text: null,
  where: toObject(getWhere()),
  min_confidence: getMinConfidence(),
});

function toObject(where) {
  return where.size ? Object.fromEntries([...where].map(([key, values]) => [key, [...values]])) : null;
}

// Asks; an earlier request is aborted, and its reply is never rendered.
export async function ask(request) {
  const own = ++turn;
  running?.abort();
  running = new AbortController();
  const problem = check(request);
  if (problem) return setStatus(problem);
  find("results").setAttribute("aria-busy", "true");
  try {
    const budget_ms = getBudget();
    const reply = await answer({ ...request, budget_ms, top: TOP, context: CONTEXT, explain: true }, running.signal);
    if (own === turn) render({ ...request, budget_ms }, reply);
  } catch (error) {
    if (own !== turn || error.name === "AbortError") return;
    setStatus(`${error.message} Your question is kept.`);
    if (error.status === 0) {
      find("results").setAttribute("aria-busy", "false"); // the answers before stay readable
      await waitForServer();
      if (own === turn) await ask(request);
    }
  } finally {
    if (own === turn) find("results").setAttribute("aria-busy", "false");
  }
}

// Asks again when the answers are shown next.
export const expire = () => {
  isStale = true;
};

// Empties the box too.
export function clear() {
  setQuestion("");
  reset();
  if (getView() === "ask" && getRoute().question) navigate(makeOwnUrl(""));
}

// Empties the page, and aborts the request in flight.
export function reset() {
  turn++;
  running?.abort();
  lastRequest = lastReply = null;
  find("results").replaceChildren();
  find("results").setAttribute("aria-busy", "false");
  renderWords(find("words"), null);
  setStatus("\u00a0");
  renderInvitation(getView());
}

function check({ question, text }) {
  if (!question) return "Type a question first.";
  if (question.length > info.max_question_characters) return "This question is too long.";
  if (text === null) return null;
  if (!text.trim()) return "Paste a text to answer from.";
  const most = info.max_body_bytes;
  const isTooLong = new Blob([JSON.stringify({ question, text })]).size + OVERHEAD > most;
  return isTooLong ? `This text is longer than ${bytes(most)}, the limit of this server.` : null;
}

function render(request, reply) {
  const before = isOtherBudget(request) ? lastReply : null;
  lastRequest = request;
  lastReply = reply;
  isStale = false;
  const place = find("results");
  const hadFocus = place.contains(document.activeElement);
  renderAnswers(place, reply, {
    changes: compare(before, reply),
    canMark: request.text === null,
    isFiltered: request.where !== null,
    threshold: getThreshold(),
    setStatus,
    onChoose: choose,
  });
  if (hadFocus) place.querySelector(".answer")?.focus();
  renderWords(find("words"), reply.answers[0]);
  renderCascade(info.stages, { reply, isText: request.text !== null });
  markLatency(reply.milliseconds);
  find("changes").textContent = before ? describeChange(before, reply) : HINT;
  setStatus(summarize(reply));
}

// Whether only the budget differs from the last request.
const isOtherBudget = (request) => isLast(request) && lastRequest.budget_ms !== request.budget_ms;

function isLast({ question, text, where, min_confidence }) {
  const isSame = lastRequest?.question === question && lastRequest.text === text;
  const isAsStrict = lastRequest?.min_confidence === min_confidence;
  const isAsWide = JSON.stringify(lastRequest?.where) === JSON.stringify(where);
  return isSame && isAsStrict && isAsWide && !isStale;
}

function summarize(reply) {
  const ranked = `of ${count(reply.retrieved, "sentence")} in ${milliseconds(reply.milliseconds)}`;
  return reply.abstains ? `None ${ranked}` : `The best ${reply.answers.length} ${ranked}`;
}

function choose(article, chosen) {
  for (const other of find("results").querySelectorAll(".answer")) other.tabIndex = -1;
  article.tabIndex = 0;
  renderWords(find("words"), chosen);
}

const setStatus = (text) => {
  find("status").textContent = text;
};

const getBudget = () => BUDGETS[find("budget").value];

function renderBudget() {
  const budget = getBudget();
  const none = info.budget_ms === null ? "no limit" : `the server's ${info.budget_ms} ms`;
  const text = budget === null ? none : `${budget} ms`;
  find("budget-shown").textContent = text;
  find("budget").setAttribute("aria-valuetext", text);
}

// Shows the view of the URL: asks its question, unless the answers are on the page already.
function prepare(view, { question, where, minConfidence }) {
  if (view !== "ask" && view !== "text") return;
  const box = find("question");
  box.placeholder = view === "text" ? "Ask the text a question" : "Ask your documents a question";
  if (lastRequest && (lastRequest.text === null) !== (view === "ask")) reset();
  if (view === "ask") {
    setWhere(where);
    setMinConfidence(minConfidence);
    find("ask-link").href = makeOwnUrl(question);
  }
  if (question && view === "ask") {
    setQuestion(question);
    if (!isLast(makeRequest(question))) ask(makeRequest(question));
  } else if (lastRequest && view === "ask") {
    setQuestion("");
    reset();
  } else if (!lastRequest) renderInvitation(view);
  if (!find("results").querySelector(".answer")) box.focus({ preventScroll: true });
  grow();
}

function setQuestion(question) {
  const box = find("question");
  if (box.value.trim() !== question) box.value = question;
  grow();
}

// The box is as high as the question.
function grow() {
  const box = find("question");
  box.style.height = "auto";
  if (box.scrollHeight) box.style.height = `${box.scrollHeight + box.offsetHeight - box.clientHeight}px`;
}

async function renderInvitation(view) {
  renderCascade(info.stages, { isText: view === "text" });
  find("changes").textContent = HINT;
  const place = find("results");
  place.replaceChildren(make("p", { class: "plain invitation" }, "\u00a0"));
  const own = turn;
  const text =
    view === "text"
      ? "Paste any text and ask: the answer is highlighted in it."
      : await describeIndex();
  if (own === turn && view === getView() && !lastReply)
    place.firstChild.replaceChildren(...[text].flat());
}

async function describeIndex() {
  try {
    const { total } = await list({ limit: 1 });
    if (!total)
      return ["There are no documents yet. ", make("a", { href: "./#documents" }, "Add some"), "."];
    return `One sentence that answers, from ${count(total, "document")}.`;
  } catch {
    return "One sentence that answers, from your documents.";
  }
}
