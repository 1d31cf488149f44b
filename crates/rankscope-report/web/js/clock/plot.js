// The plot of offsets: what is chosen, what is pointed at, and the events that change either.
import { penOn } from "../canvas.js";
import { h } from "../dom.js";
import { extent } from "../pure/scale.js";
import { frame, nearest, verticalRange } from "../pure/series.js";
import { selection } from "../selection.js";
import { tip } from "../tip.js";
import { nodeColour } from "./colours.js";
import { paintOffsets } from "./paint.js";
import { reading } from "./reading.js";

const HEIGHT = 440;
const MARGIN = { left: 76, right: 12, top: 12, bottom: 34 };

export function plot(nodes) {
  const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": "Offset of every node over time; arrow keys read rounds" });
  const times = extent(nodes.flatMap((node) => [node.x[0], node.x[node.x.length - 1]]));
  const view = { canvas, nodes, times, how: "stray", node: "all", at: null, frame: null };
  const choose = (key) => (chosen) => {
    view[key] = chosen;
    drawPlot(view);
  };
  listen(view);
  return { canvas, draw: () => drawPlot(view), how: choose("how"), node: choose("node") };
}

// The chosen nodes, each with its place among all, which decides its colour.
const chosenNodes = ({ nodes, node }) => nodes.map((one, i) => ({ node: one, i })).filter((one) => node === "all" || String(one.node.node) === node);

function drawPlot(view) {
  const shown = chosenNodes(view);
  const value = (node, k) => node[view.how][k];
  const width = Math.max(320, view.canvas.parentElement.clientWidth);
  const pen = penOn(view.canvas, width, HEIGHT);
  view.shown = shown.map((one) => one.node);
  view.frame = frame({ width, height: HEIGHT, margin: MARGIN }, view.times, verticalRange(view.shown, value));
  paintOffsets({ pen, frame: view.frame, value, at: view.at ?? timeOfRound(view), lines: shown.map(({ node, i }) => ({ node, i, colour: nodeColour(i) })) });
}

// Where the selected round is on a node that is shown; nowhere if none is selected.
function timeOfRound({ shown }) {
  const { round } = selection.get();
  const one = round === null ? undefined : shown.find((node) => node.round.includes(round));
  return one ? one.x[one.round.indexOf(round)] : null;
}

function listen(view) {
  const { canvas } = view;
  canvas.addEventListener("click", (event) => {
    const [first] = view.shown;
    if (first) selection.choose({ round: first.round[nearest(first.x, view.frame.timeAt(event.offsetX))] });
  });
  canvas.addEventListener("pointermove", (event) => {
    const [first] = view.shown;
    const t = view.frame.timeAt(event.offsetX);
    if (first) pointAt(view, first.x[nearest(first.x, t)], event.clientX, event.clientY);
  });
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const [first] = view.shown;
    if (way === undefined || !first) return;
    event.preventDefault();
    const k = view.at === null ? 0 : Math.min(first.x.length - 1, Math.max(0, nearest(first.x, view.at) + way));
    const box = canvas.getBoundingClientRect();
    pointAt(view, first.x[k], box.left + view.frame.x(first.x[k]), box.top + 40);
  });
  for (const end of ["pointerleave", "blur"]) canvas.addEventListener(end, () => pointAway(view));
}

function pointAt(view, t, clientX, clientY) {
  view.at = t;
  drawPlot(view);
  tip.show(reading(view.shown, t), clientX, clientY);
}

function pointAway(view) {
  view.at = null;
  tip.hide();
  drawPlot(view);
}
