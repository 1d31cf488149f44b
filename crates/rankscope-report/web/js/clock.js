// Draws the clocks of nodes: their offsets over time, and where each stood in its last round.
import { drawNodes } from "./clock/nodes.js";
import { drawOffsets } from "./clock/offsets.js";
import { nodeWords } from "./clock/reading.js";
import { given } from "./given.js";
import { drawOne, openHouse } from "./house.js";
import { prepared } from "./pure/series.js";
import { drawWays } from "./ways.js";

drawWays(false);
const placed = given.filter((node) => node.x.length > 0).map(prepared);

if (placed.length > 0) {
  const selectable = { node: given.map((node) => node.node), round: [...new Set(placed.flatMap((node) => [...node.round]))].sort((a, b) => a - b) };
  openHouse(selectable, (chosen) => nodeWords(placed, chosen), () => {
    drawOne("offsets", () => drawOffsets(placed));
    drawOne("nodes", () => drawNodes(given));
  });
}
