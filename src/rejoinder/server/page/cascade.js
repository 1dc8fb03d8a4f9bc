// The cascade: what came into each stage, what stayed, and how long it took.

import { find, make } from "./dom.js";
import { count, milliseconds, show } from "./numbers.js";

const WHAT = {
  "retrieval-order": "keeps the order of the search",
  bm25: "counts shared words",
  cosinet: "compares related words",
  selector: "reads both together",
};

const SEARCH = { name: "search", what: "finds sentences by their words", tint: 0 };
const CUT = { name: "cut", what: "makes sentences of the text", tint: 0 };

// Before a question, the stages as they are served; after it, what they did.
export function showCascade(stages, { found = null, isText = false }) {
  const search = isText ? CUT : SEARCH;
  const rows = found
    ? [{ ...search, ...toSearch(found) }, ...follow(stages, found.trace)]
    : [search, ...stages.map(toIdle)];
  const most = Math.max(1, ...rows.map((row) => row.given ?? 0));
  find("stages").replaceChildren(...rows.map((row) => makeRow(row, most)));
  find("total").textContent = found ? milliseconds(found.milliseconds) : "–";
  find("timeline").replaceChildren(
    ...rows
      .filter((row) => row.milliseconds > 0)
      .map((row) =>
        make("span", { class: `stage-${row.tint}`, "--grow": row.milliseconds.toFixed(3) }),
      ),
  );
}

function toSearch(found) {
  const spent = found.trace.reduce((sum, stage) => sum + stage.milliseconds, 0);
  return {
    given: found.retrieved,
    kept: found.retrieved,
    milliseconds: Math.max(0, found.milliseconds - spent),
  };
}

// The trace ends where the clock did, or tells only of the order in which sentences were found:
// what was not reached is shown too.
function follow(stages, trace) {
  const isOurs = trace.every((stage, place) => stage.scorer === stages[place]?.scorer);
  const rows = trace.map((stage, place) => ({
    name: stage.scorer,
    what: WHAT[stage.scorer],
    given: stage.given,
    kept: stage.kept,
    milliseconds: stage.milliseconds,
    isCut: stage.timed_out,
    isLast: isOurs ? place === stages.length - 1 : true,
    tint: place + 1,
  }));
  return [...rows, ...stages.map(toMissed).slice(isOurs ? trace.length : 0)];
}

const toIdle = ({ scorer, keep }, place) => ({
  name: scorer,
  what: WHAT[scorer],
  keep,
  tint: place + 1,
});

const toMissed = ({ scorer }, place) => ({ name: scorer, isMissed: true, tint: place + 1 });

function makeRow(row, most) {
  const share = (number) => ((number ?? 0) / most).toFixed(4);
  return make(
    "li",
    {
      class: row.isMissed ? "missed" : null,
      "--given": share(row.given),
      "--kept": share(row.kept),
    },
    make("span", { class: `name stage-${row.tint}` }, row.name),
    make("span", { class: "what" }, row.isMissed ? "no time was left" : (row.what ?? "")),
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
    make("span", { class: "counts" }, say(row)),
  );
}

function say({ given, kept, keep, isCut, isLast, isMissed, tint }) {
  if (isMissed) return "nothing came in";
  if (given === undefined) return keep ? `keeps ${show(keep)}` : tint ? "decides" : "begins";
  if (!tint) return count(given, "sentence");
  const stayed = isLast ? `${show(kept)} ranked` : `${show(kept)} kept`;
  return `${show(given)} in, ${stayed}${isCut ? ", cut by the clock" : ""}`;
}
