// Draws the frontier of `rejoinder tune`: accuracy against latency, with the served cascade.

import { draw, find, make } from "./dom.js";
import { milliseconds } from "./numbers.js";

const [WIDTH, HEIGHT] = [320, 132];
const [LEFT, RIGHT, TOP, BOTTOM] = [34, 12, 12, 24];

export function renderFrontier({ frontier, tuned }) {
  const figure = find("frontier");
  figure.hidden = frontier.length < 2;
  if (figure.hidden) return;
  const served = frontier.find(
    (point) => point.predicted_ms === tuned.predicted_ms && point.accuracy === tuned["P@1"],
  );
  const scale = makeScale(frontier);
  const at = (point) => [scale.x(point.predicted_ms), scale.y(point.accuracy)];
  const steps = frontier.map((point, place) => {
    const [x, y] = at(point);
    return place ? `H${x}V${y}` : `M${x} ${y}`;
  });
  figure.replaceChildren(
    draw(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": describe(frontier, served) },
      ...scale.ticks,
      draw("path", { class: "line", d: steps.join("") }),
      draw("line", { id: "spent", class: "spent", y1: TOP - 6, y2: HEIGHT - BOTTOM }),
      ...frontier.map((point) => makeDot(point, at(point), point === served)),
    ),
    make(
      "figcaption",
      {},
      `Questions of ${tuned.dataset ?? "the tuning data"} whose first answer is right, in percent, by time`,
      served ? `; this server: ${served.cascade}` : "",
    ),
  );
  find("spent").setAttribute("visibility", "hidden");
  figure.toX = scale.x;
}

// Marks the latency of the current question, if it is within the axes.
export function markLatency(spent) {
  const line = find("spent");
  if (!line) return;
  const x = find("frontier").toX(spent);
  line.setAttribute("x1", x ?? 0);
  line.setAttribute("x2", x ?? 0);
  line.setAttribute("visibility", x === null ? "hidden" : "visible");
}

function makeDot(point, [cx, cy], isServed) {
  const title = `${point.cascade}: ${formatPoint(point)}`;
  return draw(
    "circle",
    { cx, cy, r: isServed ? 5.5 : 2.5, class: isServed ? "served" : "point" },
    draw("title", {}, title),
  );
}

// Latency has a logarithmic axis, accuracy a linear one.
function makeScale(frontier) {
  const times = frontier.map((point) => Math.log(Math.max(point.predicted_ms, 0.01)));
  const heights = frontier.map((point) => point.accuracy);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const [low, high] = [Math.min(...heights), Math.max(...heights)];
  const x = (time) => {
    const share = (Math.log(Math.max(time, 0.01)) - first) / (last - first || 1);
    return share < 0 || share > 1 ? null : LEFT + (WIDTH - LEFT - RIGHT) * share;
  };
  const y = (height) =>
    HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ((height - low) / (high - low || 1));
  const label = (text, at) => draw("text", at, text);
  const fastest = frontier[0].predicted_ms;
  const slowest = frontier[frontier.length - 1].predicted_ms;
  const ticks = [
    draw("path", { class: "axis", d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}` }),
    label(high.toFixed(0), { x: LEFT - 6, y: y(high) + 4, "text-anchor": "end" }),
    label(low.toFixed(0), { x: LEFT - 6, y: y(low) + 4, "text-anchor": "end" }),
    label(milliseconds(fastest), { x: LEFT, y: HEIGHT - 6 }),
    label(milliseconds(slowest), { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }),
  ];
  return { x, y, ticks };
}

function describe(frontier, served) {
  const [first, last] = [frontier[0], frontier[frontier.length - 1]];
  const range = `Accuracy against latency: from ${formatPoint(first)} to ${formatPoint(last)}`;
  return served ? `${range}; served: ${formatPoint(served)}` : range;
}

const formatPoint = (point) => `${point.accuracy.toFixed(1)} at ${milliseconds(point.predicted_ms)}`;
