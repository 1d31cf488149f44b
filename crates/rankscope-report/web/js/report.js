// Draws every section of the report. One that fails says so in its place and leaves the others standing.
import { h } from "./dom.js";
import { given } from "./given.js";
import { spelled } from "./pure/spelling.js";
import { drawClocks } from "./report/clocks.js";
import { drawCollectives } from "./report/collectives.js";
import { drawFiles } from "./report/files.js";
import { drawHelp } from "./report/help.js";
import { drawLate } from "./report/late.js";
import { drawPath } from "./report/path.js";
import { drawRank } from "./report/rank.js";
import { drawSteps } from "./report/steps.js";
import { drawTables } from "./report/tables.js";
import { drawTiles } from "./report/tiles.js";
import { drawTime } from "./report/time.js";
import { drawWhy } from "./report/why.js";

const SECTIONS = { tiles: drawTiles, help: drawHelp, time: drawTime, steps: drawSteps, late: drawLate, why: drawWhy, path: drawPath, collectives: drawCollectives, rank: drawRank, tables: drawTables, clocks: drawClocks, files: drawFiles };

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

if (given.ranks.length > 0) drawReport({ ...given, collectives: spelled(given.collectives) });
