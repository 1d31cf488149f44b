// The axes of a chart of series: its ticks, and the colours of the page as they are when it is drawn.
import { cssVariable } from "../canvas.js";
import { ticks } from "../pure/scale.js";

const LEFT = 76;
const UNDER = 34;

/** @returns {uPlot.Axis[]} */
export function axesOf(plan) {
  const colour = (name) => () => cssVariable(name);
  // uPlot makes whole pixels of the size.
  const common = { font: `12px ${getComputedStyle(document.body).fontFamily}`, stroke: colour("--muted"), ticks: { show: false }, splits: (_, axis, from, to) => ticks(from, to) };
  return [
    { ...common, size: UNDER, gap: 8, grid: { show: false }, values: (_, at) => plan.across(at) },
    { ...common, size: LEFT, gap: 8, grid: { stroke: colour("--rule"), width: 1 }, values: (plot, values) => plan.up(values, [plot.scales.y.min, plot.scales.y.max]) },
  ];
}
