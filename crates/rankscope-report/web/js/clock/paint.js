// Paints what the plot of offsets has besides its lines: the line at zero, bands of rounds that stand alone, steps, degraded rounds, and the
// round that is selected.
import { cssVariable, sharp, strokeLine } from "../canvas.js";
import { isBounded, runs } from "../pure/series.js";
import { nodeColour } from "./colours.js";

export function paintMarks(picture, view) {
  const { pen, width, height, y } = picture;
  pen.beginPath();
  pen.rect(0, -6, width, height + 6);
  pen.clip();
  pen.lineWidth = 1;
  pen.strokeStyle = cssVariable("--faint");
  strokeLine(pen, 0, sharp(y(0)), width, sharp(y(0)));
  if (view.at !== null) paintSelected(picture, view.at);
  for (const { node, i } of view.shown) {
    pen.strokeStyle = pen.fillStyle = nodeColour(i);
    pen.lineWidth = 1.5;
    paintHairs(picture, view, node);
    paintSteps(picture, node);
    paintDegraded(picture, view, node);
  }
}

// One round alone has a band as wide as a hair.
function paintHairs({ pen, x, y }, { value, shown }, node) {
  pen.globalAlpha = Math.max(0.3 / Math.max(2, shown.length), 0.02);
  for (const [k] of runs(node, (k) => isBounded(node, k)).filter((run) => run.length === 1)) {
    const top = y(value(node, k) + node.hi[k]);
    pen.fillRect(x(node.x[k]) - 2, top, 4, y(value(node, k) + node.lo[k]) - top);
  }
  pen.globalAlpha = 1;
}

// The clock jumped somewhere between two rounds: in the middle as far as anybody knows.
function paintSteps({ pen, height, x }, node) {
  pen.setLineDash([2, 3]);
  for (const k of node.steps) {
    const middle = sharp((x(node.x[k]) + x(node.x[Math.max(0, k - 1)])) / 2);
    strokeLine(pen, middle, 0, middle, height);
  }
  pen.setLineDash([]);
}

function paintDegraded({ pen, x, y }, { value }, node) {
  for (const k of node.degraded) {
    pen.beginPath();
    pen.arc(x(node.x[k]), y(value(node, k)), 4.5, 0, 2 * Math.PI);
    pen.stroke();
  }
}

function paintSelected({ pen, height, x }, at) {
  pen.strokeStyle = cssVariable("--accent");
  strokeLine(pen, sharp(x(at)), 0, sharp(x(at)), height);
}
