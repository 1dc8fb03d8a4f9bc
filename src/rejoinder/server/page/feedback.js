// Right and wrong: the user's marks on answers, stored in the index for training.

import { mark as send } from "./api.js";
import { make } from "./dom.js";

const marks = new Map(); // those of this page, to render them when the answer comes again

export function makeButtons(question, sentence, setStatus) {
  const name = JSON.stringify([question, sentence]);
  const buttons = [
    [true, "Right", "R"],
    [false, "Wrong", "W"],
  ].map(([right, label, shortcut]) =>
    make(
      "button",
      { type: "button", "aria-keyshortcuts": shortcut, click: () => mark(right) },
      label,
    ),
  );
  const group = make(
    "div",
    { class: "feedback", role: "group", "aria-label": "Is it right?" },
    ...buttons,
  );
  group.mark = mark;
  render();
  return group;

  async function mark(right) {
    const now = marks.get(name) === right ? null : right;
    try {
      await send({ question, sentence, right: now });
    } catch (problem) {
      setStatus(`Not saved: ${problem.message}`);
      return;
    }
    if (now === null) marks.delete(name);
    else marks.set(name, now);
    setStatus({ true: "Saved: right.", false: "Saved: wrong.", null: "Withdrawn." }[now]);
    render();
  }

  function render() {
    const now = marks.get(name);
    buttons[0].setAttribute("aria-pressed", now === true);
    buttons[1].setAttribute("aria-pressed", now === false);
  }
}
