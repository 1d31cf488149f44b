// How the values of base and test are distributed: step after step, and rank by rank, with the medians.
import { select, zoomControls } from "../controls.js";
import { empty, h, lead, note, scrollBox, svgElement, swatches } from "../dom.js";
import { pickable } from "../pick.js";
import { tip } from "../tip.js";
import { formatTime } from "../pure/format.js";
import { extent, padded, ticks } from "../pure/scale.js";
import { inUnit, isKnown, metricOf, spelledVerdict, withSign } from "./figures.js";
import { stepsChart } from "./steps_plot.js";

const STRIP = { width: 1240, row: 30, left: 70, right: 120, top: 6, bottom: 26 };
const DOTS = 600;
const RANK_ROWS = 32;

export function drawDistributions({ doc, pair, at }, body, bar) {
  const series = doc.series ?? [];
  const ofJob = series.filter((one) => !one.name.includes("@"));
  if (ofJob.length === 0) return body.append(empty("The document has no values of steps, so there is nothing to draw here. Compare the runs again to get them."));
  const values = (side) => (side ? side.runs.flat() : []);
  /** @type {(one: any) => [number[], number[]]} */
  const sides = (one) => [values(one.sides[0]), values(one.sides[at + 1])];
  const holder = h("div", {});
  const shown = { chart: null };
  const draw = (name) => {
    const one = ofJob.find((each) => each.name === name);
    const { parts, chart } = stepsPlot(sides(one), metricOf(pair, name));
    shown.chart?.plot.destroy();
    shown.chart = chart;
    holder.replaceChildren(...parts);
    chart?.fit();
  };
  const zoomBy = (factor) => shown.chart?.zoom(factor);
  bar.append(select("Shows", ofJob.map((one) => [one.name, one.name]), draw), h("span", { class: "spacer" }),
    swatches([{ css: "of-base", text: pair.base }, { css: "of-test", text: pair.test }]), ...zoomControls(zoomBy, "the whole run"));
  body.append(lead("Every step that is compared, in order of time; lines are medians. At the right how often the values that are shown occur. Drag, or press + and -, to zoom; a double click or 0 shows all; arrow keys read steps."), holder);
  draw(ofJob[0].name);
  const ofRanks = series.filter((one) => one.name.startsWith("step_ns@rank"));
  if (ofRanks.length > 0) body.append(h("h3", {}, "The step of each rank"), ranksPlot(ofRanks, sides, pair));
}

// Evenly spaced values, so that a long run is not a million points.
const some = (values) => values.filter((_, i) => i % Math.max(1, Math.ceil(values.length / DOTS)) === 0);

function stepsPlot([base, test], metric) {
  if (base.length + test.length === 0) return { parts: [empty("Neither side has a step that is compared.")], chart: null };
  const chart = stepsChart([base, test], [metric?.base, metric?.test]);
  const said = metric === null ? "" : `Medians ${inUnit(metric.unit, metric.base)} and ${inUnit(metric.unit, metric.test)}; change ${withSign(metric.unit, metric.shift)}, interval ${withSign(metric.unit, metric.lo)} … ${withSign(metric.unit, metric.hi)}, ${spelledVerdict(metric.verdict)}.`;
  return { parts: [chart.element, note(said)], chart };
}

function ranksPlot(ofRanks, sides, pair) {
  const rows = ofRanks.map((one) => ({ one, values: sides(one), metric: metricOf(pair, one.name) }));
  const size = ({ metric }) => Math.abs(metric?.ratio ?? 0);
  const kept = new Set([...rows].sort((a, b) => size(b) - size(a)).slice(0, RANK_ROWS));
  const shown = rows.filter((row) => kept.has(row));
  const [lo, hi] = padded(extent(shown.flatMap((row) => row.values.flat())));
  const height = STRIP.top + shown.length * STRIP.row + STRIP.bottom;
  const x = (ns) => STRIP.left + (ns - lo) / (hi - lo) * (STRIP.width - STRIP.left - STRIP.right);
  const marks = ticks(lo, hi).flatMap((ns) => [
    svgElement("line", { class: "grid", x1: x(ns), x2: x(ns), y1: STRIP.top, y2: height - STRIP.bottom }),
    svgElement("text", { x: x(ns), y: height - 8, "text-anchor": "middle" }, formatTime(ns)),
  ]);
  const plot = svgElement("svg", { class: "plot wide", viewBox: `0 0 ${STRIP.width} ${height}`, role: "group", "aria-label": "Steps of each rank" },
    ...marks, ...shown.flatMap((row, i) => rankRow(row, STRIP.top + i * STRIP.row, x)));
  const parts = [scrollBox("Steps of ranks", plot)];
  if (shown.length < rows.length) parts.push(note("Of all ranks, those whose step changed most are shown; the table of all metrics has every rank."));
  return h("div", {}, ...parts);
}

function rankRow({ one, values: [base, test], metric }, y, x) {
  const rank = one.name.replace("step_ns@rank", "");
  const strip = (values, css, dy) => svgElement("path", { class: `dots small ${css}`, d: some(values).map((ns) => `M${x(ns).toFixed(1)} ${y + dy}h0`).join("") });
  const median = (ns, css, dy) => (isKnown(ns) ? [svgElement("line", { class: `median thick ${css}`, x1: x(ns), x2: x(ns), y1: y + dy - 5, y2: y + dy + 5 })] : []);
  const cover = svgElement("rect", { class: "cover", x: 0, y, width: STRIP.width, height: STRIP.row });
  return [
    svgElement("text", { x: STRIP.left - 10, y: y + STRIP.row / 2 + 4, "text-anchor": "end" }, `rank ${rank}`),
    strip(base, "of-base", 9), strip(test, "of-test", 21), ...median(metric?.base, "of-base", 9), ...median(metric?.test, "of-test", 21),
    svgElement("text", { x: STRIP.width - STRIP.right + 8, y: y + STRIP.row / 2 + 4 }, metric ? withSign(metric.unit, metric.shift) : ""),
    tip.on(pickable(cover, { rank: Number(rank) }), () => tip.rows(`Rank ${rank}`, metric ? [["base", inUnit(metric.unit, metric.base)], ["test", inUnit(metric.unit, metric.test)], ["change", withSign(metric.unit, metric.shift)], ["verdict", spelledVerdict(metric.verdict)]] : [])),
  ];
}
