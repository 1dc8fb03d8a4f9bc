// Starts the page, once the server has described itself.

import { connect } from "./api.js";
import { startAsking } from "./ask.js";
import { startDocuments } from "./documents.js";
import { find } from "./dom.js";
import { startExplanation } from "./explanation.js";
import { startFilters } from "./filters.js";
import { renderFrontier } from "./frontier.js";
import { startKeyboard } from "./keyboard.js";
import { startPaste } from "./paste.js";
import { startReading } from "./reading.js";
import { startSureness } from "./sureness.js";
import { startUploads } from "./uploads.js";
import { startViews } from "./views.js";

const info = await connect();
find("version").textContent = `rejoinder ${info.version}, serving ${info.model_id}`;
renderFrontier(info);
startExplanation();
startAsking(info);
startSureness(info);
startPaste();
startKeyboard();
if (info.has_index) {
  startFilters();
  startReading();
  startDocuments();
  startUploads(info);
}
startViews({ hasIndex: info.has_index });
