// How the values of base and test are distributed: step after step, and rank by rank, with the medians.
import { select } from "../controls.js";
import { empty, h, lead, note, scrollBox, svgElement, swatches } from "../dom.js";
import { pickable } from "../pick.js";
import { tip } from "../tip.js";
import { formatTime } from "../pure/format.js";
import { extent, ticks } from "../pure/scale.js";
import { inUnit, isKnown, metricOf, spelledVerdict, withSign } from "./figures.js";

const STEPS = { width: 1240, height: 250, left: 70, right: 260, top: 12, bottom: 26 };
const STRIP = { width: 1240, row: 30, left: 70, right: 120, top: 6, bottom: 26 };
const DOTS = 600;
const RANK_ROWS = 32;
const BINS = 24;

export function drawDistributions({ doc, pair, at }, body, bar) {
  const series = doc.series ?? [];
  const ofJob = series.filter((one) => !one.name.includes("@"));
  if (ofJob.length === 0) return body.append(empty("The document has no values of steps, so there is nothing to draw here. Compare the runs again to get them."));
  const values = (side) => (side ? side.runs.flat() : []);
  /** @type {(one: any) => [number[], number[]]} */
  const sides = (one) => [values(one.sides[0]), values(one.sides[at + 1])];
  const holder = h("div", {});
  const draw = (name) => {
    const one = ofJob.find((each) => each.name === name);
    holder.replaceChildren(stepsPlot(sides(one), metricOf(pair, name)));
  };
  bar.append(select("Shows", ofJob.map((one) => [one.name, one.name]), draw), h("span", { class: "spacer" }),
    swatches([{ css: "of-base", text: pair.base }, { css: "of-test", text: pair.test }]));
  body.append(lead("Every step that is compared, in order of time; lines are medians. At the right how often values occur."), holder);
  draw(ofJob[0].name);
  const ofRanks = series.filter((one) => one.name.startsWith("step_ns@rank"));
  if (ofRanks.length > 0) body.append(h("h3", {}, "The step of each rank"), ranksPlot(ofRanks, sides, pair));
}

// Evenly spaced values, so that a long run is not a million points.
const some = (values) => values.filter((_, i) => i % Math.max(1, Math.ceil(values.length / DOTS)) === 0);

function stepsPlot([base, test], metric) {
  const all = [...base, ...test];
  if (all.length === 0) return empty("Neither side has a step that is compared.");
  const [lo, hi] = padded(extent(all));
  const y = (ns) => STEPS.height - STEPS.bottom - (ns - lo) / (hi - lo) * (STEPS.height - STEPS.bottom - STEPS.top);
  const right = STEPS.width - STEPS.right;
  const marks = ticks(lo, hi).flatMap((ns) => [
    svgElement("line", { class: "grid", x1: STEPS.left, x2: STEPS.width - 40, y1: y(ns), y2: y(ns) }),
    svgElement("text", { x: STEPS.left - 8, y: y(ns) + 4, "text-anchor": "end" }, formatTime(ns)),
  ]);
  const dots = (values, css) => {
    const shown = some(values);
    const x = (i) => STEPS.left + 6 + (shown.length > 1 ? i / (shown.length - 1) : 0.5) * (right - STEPS.left - 12);
    return svgElement("path", { class: `dots ${css}`, d: shown.map((ns, i) => `M${x(i).toFixed(1)} ${y(ns).toFixed(1)}h0`).join("") });
  };
  const histogram = (values, css) => svgElement("path", { class: `histogram ${css}`, d: outline(values, lo, hi, right + 20, STEPS.width - 40, y) });
  const median = (ns, css) => (isKnown(ns) ? [svgElement("line", { class: `median ${css}`, x1: STEPS.left, x2: STEPS.width - 40, y1: y(ns), y2: y(ns) })] : []);
  const plot = svgElement("svg", { class: "plot wide", viewBox: `0 0 ${STEPS.width} ${STEPS.height}`, role: "img", "aria-label": "Values of steps of base and test" },
    ...marks, dots(base, "of-base"), dots(test, "of-test"), histogram(base, "of-base"), histogram(test, "of-test"),
    ...median(metric?.base, "of-base"), ...median(metric?.test, "of-test"),
    svgElement("text", { x: (STEPS.left + right) / 2, y: STEPS.height - 6, "text-anchor": "middle" }, "steps in order of time"),
    svgElement("text", { x: right + 110, y: STEPS.height - 6, "text-anchor": "middle" }, "how often"));
  const said = metric === null ? "" : `Medians ${inUnit(metric.unit, metric.base)} and ${inUnit(metric.unit, metric.test)}; change ${withSign(metric.unit, metric.shift)}, interval ${withSign(metric.unit, metric.lo)} … ${withSign(metric.unit, metric.hi)}, ${spelledVerdict(metric.verdict)}.`;
  return h("div", {}, scrollBox("Values of steps", plot), note(said));
}

const padded = ([lo, hi]) => {
  const pad = Math.max((hi - lo) * 0.06, Math.abs(hi) * 1e-6, 1);
  return [lo - pad, hi + pad];
};

// How often values occur, as an outline from the left edge on.
function outline(values, lo, hi, left, right, y) {
  const counts = new Array(BINS).fill(0);
  for (const v of values) counts[Math.min(BINS - 1, Math.floor((v - lo) / (hi - lo) * BINS))] += 1;
  const most = Math.max(1, ...counts);
  const at = (bin) => y(lo + bin / BINS * (hi - lo)).toFixed(1);
  const steps = counts.map((count, bin) => `L${(left + count / most * (right - left)).toFixed(1)} ${at(bin)}L${(left + count / most * (right - left)).toFixed(1)} ${at(bin + 1)}`);
  return `M${left} ${at(0)}${steps.join("")}L${left} ${at(BINS)}Z`;
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
