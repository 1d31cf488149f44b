// Draws the history of a job: every metric over its runs, where its level changed, and the runs themselves.
import { absent, empty, h, lead, orAbsent, section, svgElement } from "./dom.js";
import { given } from "./given.js";
import { DASH, formatCount, formatRate, formatTime } from "./pure/format.js";
import { extent } from "./pure/scale.js";
import { table } from "./table.js";
import { drawWays } from "./ways.js";

drawWays(false);

const WIDTH = 260;
const HEIGHT = 34;
const EDGE = 4;

const inUnit = (metric) => (metric.unit === "ns" ? formatTime : formatRate);
const percent = (ratio) => `${ratio < 0 ? "−" : "+"}${Math.abs(ratio * 100).toFixed(1)} %`;
const verdictWord = (verdict) => verdict.replaceAll("_", " ");
const verdict = (word) => h("span", { class: `tag verdict-${["regressed", "improved"].includes(word) ? word : "other"}` }, verdictWord(word));

if (given.metrics.length > 0) {
  drawLevels(given);
  drawChanges(given);
  drawRuns(given);
}

// A line through the values of all runs; a mark where the level changed, and a dot at the latest.
function sparkline(metric) {
  const known = metric.values.filter((value) => value !== null);
  const [lo, hi] = extent(known);
  const x = (run) => EDGE + (WIDTH - 2 * EDGE) * (metric.values.length > 1 ? run / (metric.values.length - 1) : 0.5);
  const y = (value) => (hi > lo ? HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (value - lo) / (hi - lo) : HEIGHT / 2);
  const places = metric.values.map((value, run) => (value === null ? null : `${x(run).toFixed(1)},${y(value).toFixed(1)}`));
  const marks = metric.changes.map((change) => svgElement("line", { class: "mark", x1: x(change.run), x2: x(change.run), y1: 0, y2: HEIGHT }));
  const last = metric.values.length - 1;
  const dot = metric.values[last] === null ? [] : [svgElement("circle", { class: "dot", cx: x(last), cy: y(metric.values[last]), r: 2.5 })];
  const label = `${metric.name} over all runs`;
  return svgElement("svg", { class: "spark", width: WIDTH, height: HEIGHT, role: "img", "aria-label": label }, ...marks, svgElement("polyline", { points: places.filter(Boolean).join(" ") }), ...dot);
}

function drawLevels(doc) {
  const { body } = section("levels");
  body.append(lead("The level is the median of the runs since the last change (upright line), without the latest run (dot)."));
  const none = "no run before it on this level";
  body.append(table({
    label: "Metrics",
    rows: doc.metrics.map((metric, at) => ({ ...metric, at })),
    columns: [
      { head: "Metric", text: true, class: "name", first: "ascending", key: (m) => m.at, cell: (m) => m.name },
      { head: "All runs", cell: sparkline },
      { head: "Level", key: (m) => m.segment?.median, cell: (m) => orAbsent(m.segment?.median, inUnit(m), none) },
      { head: "Latest", key: (m) => m.values[m.values.length - 1], cell: (m) => orAbsent(m.values[m.values.length - 1], inUnit(m), "the latest run lacks it") },
      { head: "Change", key: (m) => m.latest?.ratio, cell: (m) => orAbsent(m.latest?.ratio, percent, none) },
      { head: "Interval", tip: "95 %, allowing for how much runs differ", cell: (m) => (Number.isFinite(m.latest?.ratio_lo) && Number.isFinite(m.latest?.ratio_hi) ? `${percent(m.latest.ratio_lo)} … ${percent(m.latest.ratio_hi)}` : absent("nothing bounds it")) },
      { head: "Verdict", text: true, key: (m) => m.latest?.verdict ?? "", cell: (m) => (m.latest ? verdict(m.latest.verdict) : DASH) },
    ],
    sort: [0, "ascending"],
  }));
}

function drawChanges(doc) {
  const { body } = section("changes");
  const rows = doc.metrics.flatMap((metric) => metric.changes.map((change) => ({ metric, ...change })));
  if (rows.length === 0) {
    body.append(empty("No metric has changed its level in these runs."));
    return;
  }
  body.append(table({
    label: "Changes of level",
    rows,
    columns: [
      { head: "Since run", text: true, key: (c) => c.run, cell: (c) => doc.runs[c.run].name },
      { head: "Metric", text: true, class: "name", first: "ascending", key: (c) => c.metric.name, cell: (c) => c.metric.name },
      { head: "Before", key: (c) => c.before, cell: (c) => inUnit(c.metric)(c.before) },
      { head: "After", key: (c) => c.after, cell: (c) => inUnit(c.metric)(c.after) },
      { head: "Change", key: (c) => c.ratio, cell: (c) => orAbsent(c.ratio, percent, "the level before was zero") },
      { head: "p", tip: "How likely such a step is anywhere in a history without one", key: (c) => c.p, cell: (c) => c.p.toExponential(1) },
      { head: "Verdict", text: true, key: (c) => c.verdict, cell: (c) => verdict(c.verdict) },
    ],
    sort: [0, "descending"],
  }));
}

function drawRuns(doc) {
  const { body } = section("runs");
  const time = (ns) => new Date(ns / 1e6).toISOString().slice(0, 19).replace("T", " ");
  body.append(table({
    label: "Runs",
    rows: doc.runs.map((run, at) => ({ ...run, at })),
    columns: [
      { head: "Run", text: true, class: "name", first: "ascending", key: (r) => r.at, cell: (r) => r.name },
      { head: "Start", tip: "In UTC, as the manifest or the stamps of the traces say", text: true, key: (r) => r.start_ns, cell: (r) => orAbsent(r.start_ns, time, "neither a manifest nor a stamp tells") },
      { head: "Ranks", key: (r) => r.ranks, cell: (r) => formatCount(r.ranks) },
      { head: "Steps", key: (r) => r.steps, cell: (r) => formatCount(r.steps) },
      { head: "Read from", text: true, class: "mono", key: (r) => r.path, cell: (r) => r.path },
    ],
    sort: [0, "descending"],
    limit: 16,
  }));
}
