// Series over time or steps, drawn by uPlot in the colours of the page. A drag, + and - zoom, a double click and 0 show all; what is
// pointed at, or gone to by arrow keys, is read aloud by the tooltip, and a click or Enter takes it. What a chart says is its caller's.
import { onRedraw } from "../canvas.js";
import { h } from "../dom.js";
import { nearest, shownTime, stretched } from "../pure/series.js";
import { zoomed } from "../pure/strip.js";
import { tip } from "../tip.js";
import { axesOf } from "./axes.js";
import { paintBeside } from "./beside.js";

// Points that fill the width at least.
const CLOSEST_POINTS = 3;
// Less is a click.
const DRAG_PX = 5;

/** @typedef {object} ChartPlan
 * @property {string} label What it is, for who does not see it.
 * @property {number} height
 * @property {number} [right] Pixels beside the plot, for what `paint` puts there.
 * @property {[number, number]} whole All of the time, or of the steps.
 * @property {uPlot.AlignedData} data
 * @property {uPlot.Series[]} series
 * @property {uPlot.Band[]} [bands]
 * @property {(at: number[]) => string[]} across What is written along the time.
 * @property {(values: number[], reach: [number, number]) => string[]} up What is written along the values.
 * @property {(shown: [number, number]) => [number, number]} range Of the values, where so much of the time is shown.
 * @property {() => ArrayLike<number>} stops The times that can be read, ascending.
 * @property {(t: number) => any} read What is said of one.
 * @property {(t: number) => void} [take] What a click on one does.
 * @property {(picture: any) => void} [paint] Draws what is no series, over them.
 */

/** @param {ChartPlan} plan */
export function seriesChart(plan) {
  const element = h("div", { class: "series" });
  const view = { plan, element, shown: plan.whole, plot: null, pressed: 0 };
  view.plot = new uPlot(optionsOf(view), plan.data, element);
  const { canvas } = view.plot.ctx;
  for (const [name, value] of Object.entries({ tabindex: "0", role: "img", "aria-label": plan.label })) canvas.setAttribute(name, value);
  canvas.addEventListener("keydown", (event) => answerKey(view, event));
  canvas.addEventListener("blur", () => leaveChart(view));
  const { over } = view.plot;
  over.addEventListener("pointerdown", (event) => { view.pressed = event.clientX; });
  over.addEventListener("click", (event) => Math.abs(event.clientX - view.pressed) < DRAG_PX && takeStop(view));
  onRedraw(() => (element.isConnected ? fitChart(view) : view.plot.destroy()));
  // After other values: as much of the time as before, and as high as they need.
  const rescale = () => view.plot.setScale("x", { min: view.shown[0], max: view.shown[1] });
  return { element, plot: view.plot, rescale, fit: () => fitChart(view), zoom: (factor) => zoomSeries(view, factor) };
}

/** @returns {uPlot.Options} */
function optionsOf(view) {
  const { plan } = view;
  return {
    width: 600,
    height: plan.height,
    padding: [12, plan.right ?? 24, 0, 0],
    legend: { show: false },
    scales: { x: { time: false, range: (_, from, to) => (view.shown = shownTime(plan.data[0].length, from, to, plan.whole)) }, y: { range: () => plan.range(view.shown) } },
    axes: axesOf(plan),
    series: [{}, ...plan.series],
    bands: plan.bands ?? [],
    cursor: { y: false, points: { show: false }, move: (plot, left, top) => [placeOf(view, plot, left), top], drag: { setScale: true, x: true, y: false, dist: DRAG_PX, click: () => {} } },
    hooks: { draw: [(plot) => plan.paint && paintBeside(plot, plan.paint)], setCursor: [(plot) => sayStop(view, plot)] },
  };
}

// The stop nearest to a time; none where nothing can be read.
function stopAt({ plan }, t) {
  const stops = plan.stops();
  return stops.length > 0 ? stops[nearest(stops, t)] : null;
}

// The cursor stands on what it reads.
function placeOf(view, plot, left) {
  const stop = left < 0 ? null : stopAt(view, plot.posToVal(left, "x"));
  return stop === null ? left : Math.min(plot.over.clientWidth, Math.max(0, plot.valToPos(stop, "x")));
}

const stopRead = (view, plot = view.plot) => (plot.cursor.left < 0 ? null : stopAt(view, plot.posToVal(plot.cursor.left, "x")));

function sayStop(view, plot) {
  const stop = stopRead(view, plot);
  if (stop === null) return tip.hide();
  const { left, top } = plot.cursor;
  const box = plot.over.getBoundingClientRect();
  tip.show(view.plan.read(stop), box.left + left, box.top + top);
}

function takeStop(view) {
  const stop = stopRead(view);
  if (stop !== null) view.plan.take?.(stop);
}

const leaveChart = (view) => view.plot.setCursor({ left: -10, top: -10 });

// Keys of a chart.
const CHART_KEYS = {
  "+": (view) => zoomSeries(view, 0.5),
  "=": (view) => zoomSeries(view, 0.5),
  "-": (view) => zoomSeries(view, 2),
  0: (view) => zoomSeries(view, Infinity),
  Enter: takeStop,
  ArrowLeft: (view) => readNext(view, -1),
  ArrowRight: (view) => readNext(view, 1),
};

function answerKey(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(CHART_KEYS, event.key)) return;
  event.preventDefault();
  CHART_KEYS[event.key](view);
}

// To the next stop, from the first one that is shown; what is shown goes along.
function readNext(view, by) {
  const stops = view.plan.stops();
  if (stops.length === 0) return;
  const read = stopRead(view);
  const at = read === null ? Math.max(0, nearest(stops, view.shown[0])) : Math.min(stops.length - 1, Math.max(0, nearest(stops, read) + by));
  const [from, to] = view.shown;
  if (stops[at] < from || stops[at] > to) {
    const begin = stops[at] < from ? stops[at] : stops[at] - (to - from);
    view.plot.setScale("x", { min: begin, max: begin + (to - from) });
  }
  view.plot.setCursor({ left: view.plot.valToPos(stops[at], "x"), top: 28 });
}

function zoomSeries(view, factor) {
  const { plan: { whole, data }, plot, shown } = view;
  const [first, last] = stretched(whole);
  const least = (last - first) / Math.max(1, data[0].length - 1) * CLOSEST_POINTS;
  const [min, max] = Number.isFinite(factor) ? zoomed(shown, [first, last], factor, stopRead(view) ?? (shown[0] + shown[1]) / 2, least) : [first, last];
  plot.setScale("x", { min, max });
}

// Where there is no width, as in a section that is closed, there will be a redraw.
const fitChart = ({ element, plot, plan }) => plot.setSize({ width: Math.max(320, element.clientWidth), height: plan.height });
