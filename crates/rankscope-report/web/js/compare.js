// Draws every section of a comparison, again where another test is chosen. One that fails says so and leaves the others standing.
import { drawDefinitions } from "./compare/defined.js";
import { drawDistributions } from "./compare/distributions.js";
import { drawAllMetrics } from "./compare/metrics.js";
import { drawPlots } from "./compare/plots.js";
import { drawRanking } from "./compare/ranking.js";
import { drawMoved } from "./compare/moved.js";
import { drawStructure } from "./compare/structure.js";
import { drawSummaryTiles } from "./compare/summary.js";
import { drawVerdicts } from "./compare/verdicts.js";
import { drawWaterfall } from "./compare/waterfall.js";
import { select } from "./controls.js";
import { h } from "./dom.js";
import { given } from "./given.js";

const COMPARED = { tiles: drawSummaryTiles, verdicts: drawVerdicts, waterfall: drawWaterfall, ranking: drawRanking, distributions: drawDistributions, collectives: drawMoved, structure: drawStructure, plots: drawPlots, metrics: drawAllMetrics, definitions: drawDefinitions };

const tests = [given, ...(given.others ?? [])];

// What all sections draw: the pair, its place among the tests, and the document.
const view = (at) => ({ doc: given, pair: tests[at], at, beside: (given.side_by_side ?? [])[at] ?? null });

function drawComparison(at) {
  for (const [id, draw] of Object.entries(COMPARED)) {
    const body = document.getElementById(id);
    const bar = body.querySelector(".bar");
    body.replaceChildren(...(bar ? [bar] : []));
    if (bar) bar.replaceChildren(bar.querySelector("h2"));
    try {
      draw(view(at), body, bar);
    } catch (error) {
      console.error(error);
      body.append(h("p", { class: "banner" }, `This part could not be drawn: ${error.message}`));
    }
  }
}

if (given.metrics.length > 0) {
  drawComparison(0);
  if (tests.length > 1) {
    const options = tests.map((pair, at) => [String(at), pair.test]);
    document.getElementById("findings").append(select("Test shown", options, (at) => drawComparison(Number(at))));
  }
}
