// Renders the cascade: the candidates into and out of each stage, and its latency.

import { find, make } from "./dom.js";
import { count, formatNumber, milliseconds } from "./numbers.js";

const DESCRIPTIONS = {
  "retrieval-order": "keeps the search order",
  bm25: "counts shared words",
  cosinet: "compares related words",
  selector: "reads question and sentence",
};

const SEARCH = { name: "search", what: "matches words and meaning", tint: 0 };
const SPLIT = { name: "split", what: "splits the text into sentences", tint: 0 };

// Before a question, the stages of the served cascade; after it, their trace.
export function renderCascade(stages, { reply = null, isText = false }) {
  const search = isText ? SPLIT : SEARCH;
  const rows = reply
    ? [{ ...search, ...toSearch(reply) }, ...follow(stages, reply.trace)]
    : [search, ...stages.map(toIdle)];
  const most = Math.max(1, ...rows.map((row) => row.given ?? 0));
  find("stages").replaceChildren(...rows.map((row) => makeRow(row, most)));
  find("total").textContent = reply ? milliseconds(reply.milliseconds) : "–";
  find("timeline").replaceChildren(
    ...rows
      .filter((row) => row.milliseconds > 0)
      .map((row) =>
        make("span", { class: `stage-${row.tint}`, "--grow": row.milliseconds.toFixed(3) }),
      ),
  );
}

function toSearch(reply) {
  const spent = reply.trace.reduce((sum, stage) => sum + stage.milliseconds, 0);
  return {
    given: reply.retrieved,
    kept: reply.retrieved,
    milliseconds: Math.max(0, reply.milliseconds - spent),
  };
}

// The trace ends when the budget does, or has only the retrieval order: stages that were not reached
// are rendered too.
function follow(stages, trace) {
  const isOurs = trace.every((stage, place) => stage.scorer === stages[place]?.scorer);
  const rows = trace.map((stage, place) => ({
    name: stage.scorer,
    what: DESCRIPTIONS[stage.scorer],
    given: stage.given,
    kept: stage.kept,
    milliseconds: stage.milliseconds,
    timedOut: stage.timed_out,
    isLast: isOurs ? place === stages.length - 1 : true,
    tint: place + 1,
  }));
  return [...rows, ...stages.map(toSkipped).slice(isOurs ? trace.length : 0)];
}

const toIdle = ({ scorer, keep }, place) => ({
  name: scorer,
  what: DESCRIPTIONS[scorer],
  keep,
  tint: place + 1,
});

const toSkipped = ({ scorer }, place) => ({ name: scorer, isSkipped: true, tint: place + 1 });

function makeRow(row, most) {
  const share = (number) => ((number ?? 0) / most).toFixed(4);
  return make(
    "li",
    {
      class: row.isSkipped ? "missed" : null,
      "--given": share(row.given),
      "--kept": share(row.kept),
    },
    make("span", { class: `name stage-${row.tint}` }, row.name),
    make("span", { class: "what" }, row.isSkipped ? "out of time" : (row.what ?? "")),
    make(
      "span",
      { class: "time" },
      row.milliseconds === undefined ? "" : milliseconds(row.milliseconds),
    ),
    make(
      "span",
      { class: "flow", "aria-hidden": true },
      make("span", { class: `stage-${row.tint}` }),
    ),
    make("span", { class: "counts" }, describeCounts(row)),
  );
}

function describeCounts({ given, kept, keep, timedOut, isLast, isSkipped, tint }) {
  if (isSkipped) return "skipped";
  if (given === undefined) return keep ? `keeps ${formatNumber(keep)}` : tint ? "decides" : "begins";
  if (!tint) return count(given, "sentence");
  const output = `${formatNumber(kept)} ${isLast ? "ranked" : "kept"}`;
  return `${formatNumber(given)} in, ${output}${timedOut ? ", timed out" : ""}`;
}
