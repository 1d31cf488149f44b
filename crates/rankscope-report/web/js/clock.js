// Draws the clocks of nodes: their offsets over time, and where each stood in its last round.
import { drawNodes } from "./clock/nodes.js";
import { drawOffsets } from "./clock/offsets.js";
import { given } from "./given.js";
import { prepared } from "./pure/series.js";

const placed = given.filter((node) => node.x.length > 0).map(prepared);

if (placed.length > 0) {
  drawOffsets(placed);
  drawNodes(given);
}
