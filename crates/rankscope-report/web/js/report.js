// Draws every section of the report. One that fails says so in its place and leaves the others standing.
import { h } from "./dom.js";
import { foldSection, openWhatIsAskedFor } from "./fold_section.js";
import { given } from "./given.js";
import { followSelection } from "./pick.js";
import { spelled } from "./pure/spelling.js";
import { drawAnswers } from "./report/answers.js";
import { BRIEFS } from "./report/briefs.js";
import { drawClocks } from "./report/clocks.js";
import { drawCollectives } from "./report/collectives.js";
import { drawFiles } from "./report/files.js";
import { drawHelp } from "./report/help.js";
import { listenToKeys } from "./keys.js";
import { drawLate } from "./report/late.js";
import { drawPath } from "./report/path.js";
import { drawRank } from "./report/rank.js";
import { drawSelected } from "./report/selected.js";
import { drawStrip } from "./report/strip.js";
import { drawSteps } from "./report/steps.js";
import { drawTables } from "./report/tables.js";
import { drawTime } from "./report/time.js";
import { drawWhy } from "./report/why.js";
import { followAddress } from "./selection.js";

const SECTIONS = { answers: drawAnswers, strip: drawStrip, help: drawHelp, time: drawTime, steps: drawSteps, late: drawLate, why: drawWhy, path: drawPath, collectives: drawCollectives, rank: drawRank, tables: drawTables, clocks: drawClocks, files: drawFiles };

function drawReport(doc) {
  for (const [id, draw] of Object.entries(SECTIONS)) {
    try {
      draw(doc);
    } catch (error) {
      console.error(error);
      document.getElementById(id).append(h("p", { class: "banner" }, `This part could not be drawn: ${error.message}`));
    }
  }
}

// What links and keys may select is what the document has.
function selectable(doc) {
  const ranks = new Set(doc.ranks.map((rank) => rank.rank));
  const steps = new Set(doc.step_map?.steps ?? []);
  return ({ rank, step }) => (rank === null || ranks.has(rank)) && (step === null || steps.has(step));
}

if (given.ranks.length > 0) {
  const doc = { ...given, collectives: spelled(given.collectives) };
  // Many ranks share the width: what is as high as they are many stands side by side.
  document.querySelector("main").classList.toggle("many", doc.ranks.length > 16);
  drawReport(doc);
  for (const [id, brief] of Object.entries(BRIEFS)) foldSection(id, brief(doc));
  drawSelected(doc);
  followSelection();
  followAddress(selectable(doc));
  openWhatIsAskedFor();
  listenToKeys(doc);
}
