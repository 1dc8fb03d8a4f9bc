// Right and wrong: what the user says of an answer goes to the index, for training.

import { mark } from "./api.js";
import { make } from "./dom.js";

const said = new Map(); // what was said on this page, so that it shows when asked again

export function makeButtons(question, sentence, tell) {
  const name = JSON.stringify([question, sentence]);
  const buttons = [
    [true, "Right", "R"],
    [false, "Wrong", "W"],
  ].map(([right, label, shortcut]) =>
    make(
      "button",
      { type: "button", "aria-keyshortcuts": shortcut, click: () => say(right) },
      label,
    ),
  );
  const group = make(
    "div",
    { class: "feedback", role: "group", "aria-label": "Is it right?" },
    ...buttons,
  );
  group.say = say;
  show();
  return group;

  async function say(right) {
    const now = said.get(name) === right ? null : right;
    try {
      await mark({ question, sentence, right: now });
    } catch (problem) {
      tell(`Not kept: ${problem.message}`);
      return;
    }
    if (now === null) said.delete(name);
    else said.set(name, now);
    tell({ true: "Kept: right.", false: "Kept: wrong.", null: "Taken back." }[now]);
    show();
  }

  function show() {
    const now = said.get(name);
    buttons[0].setAttribute("aria-pressed", now === true);
    buttons[1].setAttribute("aria-pressed", now === false);
  }
}
