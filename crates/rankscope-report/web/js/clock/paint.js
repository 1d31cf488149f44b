// Paints the plot of offsets: axes, the band of every node, their lines with steps and degraded rounds, and where one points.
// A picture is { pen, frame, value, at, lines: [{ node, i, colour }] }.
import { cssVariable, sharp, strokeLine } from "../canvas.js";
import { columnUnit, formatTime, withMinus } from "../pure/format.js";
import { ticks } from "../pure/scale.js";
import { isBounded, runs } from "../pure/series.js";
import { isDashed } from "./colours.js";

// Rounds on screen up to which each gets a dot.
const DOTS_MOST = 400;

export function paintOffsets(picture) {
  const { pen, frame: { margin, across, down } } = picture;
  paintValues(picture);
  paintTimes(picture);
  pen.save();
  pen.beginPath();
  pen.rect(margin.left, margin.top, across, down);
  pen.clip();
  for (const line of picture.lines) paintBand(picture, line);
  for (const line of picture.lines) paintNode(picture, line);
  if (picture.at !== null) paintCursor(picture);
  pen.restore();
}

function paintValues({ pen, frame: { margin, width, values: [lo, hi], y } }) {
  const { unit, text } = columnUnit(Math.max(Math.abs(lo), Math.abs(hi)) / 3);
  pen.lineWidth = 1;
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const v of ticks(lo, hi)) {
    pen.strokeStyle = cssVariable(Math.abs(v) < 1e-9 ? "--faint" : "--rule");
    strokeLine(pen, margin.left, sharp(y(v)), width - margin.right, sharp(y(v)));
    pen.fillStyle = cssVariable("--muted");
    pen.fillText(`${withMinus(text(v))} ${unit}`, margin.left - 8, y(v));
  }
}

function paintTimes({ pen, frame: { margin, height, times, x } }) {
  pen.fillStyle = cssVariable("--muted");
  pen.textAlign = "center";
  pen.textBaseline = "top";
  for (const t of ticks(...times)) pen.fillText(formatTime(t * 1e9), x(t), height - margin.bottom + 8);
}

function paintBand({ pen, frame: { x, y }, value, lines }, { node, colour }) {
  pen.fillStyle = colour;
  pen.globalAlpha = Math.max(0.3 / Math.max(2, lines.length), 0.02);
  for (const run of runs(node, (k) => isBounded(node, k))) {
    // One round alone has a band as wide as a hair.
    const hair = run.length > 1 ? 0 : 2;
    const ends = [...run.map((k) => [x(node.x[k]) - hair, k]), ...(hair > 0 ? [[x(node.x[run[0]]) + hair, run[0]]] : [])];
    pen.beginPath();
    for (const [at, k] of ends) pen.lineTo(at, y(value(node, k) + node.hi[k]));
    for (const [at, k] of ends.reverse()) pen.lineTo(at, y(value(node, k) + node.lo[k]));
    pen.fill();
  }
  pen.globalAlpha = 1;
}

function paintNode(picture, line) {
  const { pen } = picture;
  pen.strokeStyle = pen.fillStyle = line.colour;
  pen.lineWidth = 1.5;
  pen.lineJoin = "round";
  paintRuns(picture, line);
  paintSteps(picture, line);
  paintRounds(picture, line);
}

function paintRuns({ pen, frame: { x, y }, value }, { node, i }) {
  pen.setLineDash(isDashed(i) ? [6, 3] : []);
  for (const run of runs(node, () => true)) {
    pen.beginPath();
    for (const k of run) pen.lineTo(x(node.x[k]), y(value(node, k)));
    pen.stroke();
  }
  pen.setLineDash([]);
}

// The clock jumped somewhere between two rounds: in the middle as far as anybody knows.
function paintSteps({ pen, frame: { margin, height, x } }, { node }) {
  pen.setLineDash([2, 3]);
  for (const k of node.steps) {
    const middle = sharp((x(node.x[k]) + x(node.x[Math.max(0, k - 1)])) / 2);
    strokeLine(pen, middle, margin.top, middle, height - margin.bottom);
  }
  pen.setLineDash([]);
}

function paintRounds({ pen, frame: { x, y }, value, lines }, { node }) {
  const disc = (k, radius) => {
    pen.beginPath();
    pen.arc(x(node.x[k]), y(value(node, k)), radius, 0, 2 * Math.PI);
  };
  for (const k of node.x.length * lines.length < DOTS_MOST ? node.x.keys() : []) {
    disc(k, 2.2);
    pen.fill();
  }
  for (const k of node.degraded) {
    disc(k, 4.5);
    pen.stroke();
  }
}

function paintCursor({ pen, frame: { margin, height, x }, at }) {
  pen.strokeStyle = cssVariable("--faint");
  pen.lineWidth = 1;
  strokeLine(pen, sharp(x(at)), margin.top, sharp(x(at)), height - margin.bottom);
}
