// Draws every section of the report.
import { given } from "./given.js";
import { drawOne, foldSections, openHouse } from "./house.js";
import { reportOf } from "./pure/given_report.js";
import { drawAnswers } from "./report/answers.js";
import { BRIEFS } from "./report/briefs.js";
import { drawClocks } from "./report/clocks.js";
import { drawCollectives } from "./report/collectives.js";
import { drawFiles } from "./report/files.js";
import { drawHelp } from "./report/help.js";
import { drawLate } from "./report/late.js";
import { drawPath } from "./report/path.js";
import { drawRank } from "./report/rank.js";
import { figuresOf } from "./report/selected.js";
import { drawStrip } from "./report/strip.js";
import { drawSteps } from "./report/steps.js";
import { drawTables } from "./report/tables.js";
import { drawTime } from "./report/time.js";
import { drawWhy } from "./report/why.js";
import { drawWays } from "./ways.js";

const SECTIONS = { answers: drawAnswers, strip: drawStrip, help: drawHelp, time: drawTime, steps: drawSteps, late: drawLate, why: drawWhy, path: drawPath, collectives: drawCollectives, rank: drawRank, tables: drawTables, clocks: drawClocks, files: drawFiles };

function drawReport(doc) {
  for (const [id, draw] of Object.entries(SECTIONS)) drawOne(id, () => draw(doc));
  foldSections(Object.fromEntries(Object.entries(BRIEFS).map(([id, brief]) => [id, document.getElementById(id) && brief(doc)])));
}

drawWays(true);
if (given !== null) {
  const doc = reportOf(given);
  // Many ranks share the width: what is as high as they are many stands side by side.
  document.querySelector("main").classList.toggle("many", doc.ranks.length > 16);
  // What links and keys may select is what the document has.
  const selectable = { rank: doc.ranks.map((rank) => rank.rank), step: doc.step_map?.steps ?? [] };
  openHouse(selectable, (chosen) => figuresOf(chosen, doc), () => drawReport(doc));
}
