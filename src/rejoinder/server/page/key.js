// Asks for the API key, where the server wants one; it is forgotten with the tab.

import { getInfo, setKey } from "./api.js";
import { waitForServer } from "./connection.js";
import { find } from "./dom.js";

// Returns what the server says about itself, once it lets us in.
export async function unlockServer() {
  for (;;) {
    try {
      return await getInfo();
    } catch (problem) {
      if (problem.status === 401) await askForKey(problem.message);
      else await waitForServer();
    }
  }
}

function askForKey(problem) {
  const dialog = find("unlocking");
  find("unlocking-problem").textContent = problem;
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        setKey(find("key").value);
        find("key").value = "";
        resolve();
      },
      { once: true },
    );
  });
}
