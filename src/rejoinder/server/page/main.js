// Starts the page, once the server has said what it serves.

import { startAsking } from "./ask.js";
import { startDocuments } from "./documents.js";
import { find } from "./dom.js";
import { showFrontier } from "./frontier.js";
import { startKeyboard } from "./keyboard.js";
import { unlockServer } from "./key.js";
import { startPaste } from "./paste.js";
import { startUploads } from "./uploads.js";
import { startViews } from "./views.js";

const info = await unlockServer();
find("version").textContent = `rejoinder ${info.version}, serving ${info.model_id}`;
showFrontier(info);
startAsking(info);
startPaste();
startKeyboard();
if (info.has_index) {
  startDocuments();
  startUploads(info);
}
startViews({ hasIndex: info.has_index });
