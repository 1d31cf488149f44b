// Draws every section of a comparison, again where another test is chosen.
import { briefsOf } from "./compare/briefs.js";
import { drawDefinitions } from "./compare/defined.js";
import { drawDistributions } from "./compare/distributions.js";
import { drawAllMetrics } from "./compare/metrics.js";
import { drawPlots } from "./compare/plots.js";
import { drawRanking } from "./compare/ranking.js";
import { drawMoved } from "./compare/moved.js";
import { drawStrips, stepsOf } from "./compare/strips.js";
import { drawStructure } from "./compare/structure.js";
import { drawSummaryTiles } from "./compare/summary.js";
import { drawVerdicts } from "./compare/verdicts.js";
import { drawWaterfall } from "./compare/waterfall.js";
import { ranksCompared, wordsOf } from "./compare/selected.js";
import { select } from "./controls.js";
import { given } from "./given.js";
import { drawOne, foldSections, openHouse } from "./house.js";
import { drawWays } from "./ways.js";

drawWays(false);

const COMPARED = { tiles: drawSummaryTiles, verdicts: drawVerdicts, waterfall: drawWaterfall, strips: drawStrips, ranking: drawRanking, distributions: drawDistributions, collectives: drawMoved, structure: drawStructure, plots: drawPlots, metrics: drawAllMetrics, definitions: drawDefinitions };

const tests = [given, ...(given.others ?? [])];
const shownTest = { at: 0 };

// What all sections draw: the pair, its place among the tests, and the document.
const compared = (at) => ({ doc: given, pair: tests[at], at, beside: (given.side_by_side ?? [])[at] ?? null });

function drawComparison(at) {
  shownTest.at = at;
  for (const [id, draw] of Object.entries(COMPARED)) {
    const body = document.getElementById(id);
    if (body === null) continue;
    // What has been folded stays folded as the reader left it.
    const place = body.querySelector(":scope > details.fold") ?? body;
    const bar = body.querySelector(".bar");
    place.replaceChildren(...[place.querySelector(":scope > summary"), bar].filter(Boolean));
    if (bar) bar.replaceChildren(...[bar.querySelector("h2")].filter(Boolean));
    drawOne(id, () => draw(compared(at), place, bar));
  }
  foldSections(briefsOf(compared(at)));
}

if (given.metrics.length > 0) {
  const selectable = { rank: ranksCompared(given), step: stepsOf(given) };
  openHouse(selectable, (chosen) => wordsOf(compared(shownTest.at), chosen), () => drawComparison(0));
  if (tests.length > 1) {
    const options = tests.map((pair, at) => [String(at), pair.test]);
    document.getElementById("findings").append(select("Test shown", options, (at) => drawComparison(Number(at))));
  }
}
