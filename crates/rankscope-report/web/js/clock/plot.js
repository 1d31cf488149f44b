// The plot of offsets: a line and a band of every node, what is chosen of them, and what a round says.
import { formatTime, columnUnit, withMinus } from "../pure/format.js";
import { extent } from "../pure/scale.js";
import { breaks, isBounded, verticalRange } from "../pure/series.js";
import { selection } from "../selection.js";
import { seriesChart } from "../series/chart.js";
import { isDashed, nodeColour } from "./colours.js";
import { paintMarks } from "./paint.js";
import { reading } from "./reading.js";

const HEIGHT = 440;
// Rounds on screen up to which each gets a dot.
const DOTS_MOST = 400;

export function offsetPlot(nodes) {
  const whole = extent(nodes.flatMap((node) => [node.x[0], node.x[node.x.length - 1]]));
  const view = { nodes, how: "stray", shown: nodes.map((node, i) => ({ node, i })) };
  const value = (node, k) => node[view.how][k];
  const chart = seriesChart({
    label: "Offset of every node over time; arrow keys read rounds, Enter selects one, + and - zoom",
    height: HEIGHT,
    whole,
    data: dataOf(view),
    series: nodes.flatMap((node, i) => seriesOf(view, node, i)),
    bands: nodes.map((_, i) => ({ series: [3 * i + 3, 3 * i + 2], fill: () => nodeColour(i) + bandOpacity(view.shown.length) })),
    across: (at) => at.map((t) => formatTime(t * 1e9)),
    up: labelsOf,
    range: (shown) => verticalRange(view.shown.map((one) => one.node), value, shown),
    stops: () => view.shown[0]?.node.x ?? [],
    read: (t) => reading(view.shown.map((one) => one.node), t),
    take: (t) => selection.choose({ round: view.shown[0].node.round[view.shown[0].node.x.indexOf(t)] }),
    paint: (picture) => paintMarks(picture, { ...view, value, at: timeOfRound(view) }),
  });
  return {
    ...chart,
    how: (how) => {
      view.how = how;
      chart.plot.setData(dataOf(view), false);
      chart.rescale();
    },
    node: (chosen) => showNodes(view, chart.plot, chosen),
  };
}

// A column for the times of all, and of each node one for its line and one for each bound.
/** @returns {uPlot.AlignedData} */
function dataOf({ nodes, how }) {
  const bound = (node, side) => node.x.map((_, k) => (isBounded(node, k) ? node[how][k] + node[side][k] : null));
  return /** @type {uPlot.AlignedData} */ (uPlot.join(nodes.map((node) => [node.x, node[how], bound(node, "lo"), bound(node, "hi")])));
}

/** @returns {uPlot.Series[]} */
function seriesOf(view, node, i) {
  const colour = () => nodeColour(i);
  /** @returns {(plot: uPlot) => uPlot.Series.Gaps} */
  const cut = (holds) => {
    const between = breaks(node, holds);
    return (plot) => between.map(([from, to]) => [plot.valToPos(from, "x", true), plot.valToPos(to, "x", true)]);
  };
  /** @type {uPlot.Series} */
  const edge = { width: 0, points: { show: false }, gaps: cut((k) => isBounded(node, k)) };
  const dots = { show: (_, at, from, to) => (to - from) * view.shown.length < DOTS_MOST, size: 4.4, width: 0, fill: colour, stroke: colour };
  return [{ stroke: colour, width: 1.5, dash: isDashed(i) ? [6, 3] : [], gaps: cut(() => true), points: dots }, edge, edge];
}

// Bands of many nodes lie over each other.
const bandOpacity = (nodes) => Math.round(255 * Math.max(0.3 / Math.max(2, nodes), 0.02)).toString(16).padStart(2, "0");

function labelsOf(values, [lo, hi]) {
  const { unit, text } = columnUnit(Math.max(Math.abs(lo), Math.abs(hi)) / 3);
  return values.map((v) => `${withMinus(text(v))} ${unit}`);
}

function showNodes(view, plot, chosen) {
  const shown = view.nodes.map((node, i) => ({ node, i })).filter(({ node }) => chosen === "all" || String(node.node) === chosen);
  if (shown.length !== view.shown.length || shown[0] !== undefined && shown[0].i !== view.shown[0]?.i) {
    view.shown = shown;
    plot.batch(() => {
      plot.setSeries(null, { show: chosen === "all" });
      for (const { i } of chosen === "all" ? [] : shown) for (const at of [1, 2, 3]) plot.setSeries(3 * i + at, { show: true });
    });
  }
  plot.redraw(false);
}

// Where the selected round is on a node that is shown; nowhere if none is selected.
function timeOfRound({ shown }) {
  const { round } = selection.get();
  const one = round === null ? undefined : shown.find(({ node }) => node.round.includes(round));
  return one ? one.node.x[one.node.round.indexOf(round)] : null;
}
