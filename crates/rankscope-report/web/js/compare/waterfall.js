// The largest contributions to the change of a step as a waterfall, with their intervals.
import { empty, h, lead, scrollBox, svgElement, swatches } from "../dom.js";
import { pickRank } from "../pick.js";
import { table } from "../table.js";
import { tip } from "../tip.js";
import { formatTime } from "../pure/format.js";
import { extent, ticks } from "../pure/scale.js";
import { waterfallBars } from "../pure/waterfall.js";
import { defined } from "./defined.js";
import { isKnown, withSign } from "./figures.js";

const FALL = { width: 1240, row: 27, left: 330, right: 110, top: 8, bottom: 26 };
const MOST_BARS = 10;

export function drawWaterfall({ pair }, body, bar) {
  if (pair.contributions.length === 0) return body.append(empty("There are no contributions: they need tables of operators and collectives on both sides. Compare traces, or reports that were saved with --tables all."));
  bar.append(swatches([{ css: "longer", text: "takes longer" }, { css: "less", text: "takes less" }]));
  const sum = h("span", {}, "What the change of the mean step, ", defined("contribution", withSign("ns", pair.step_delta_ns)), ", is made of; the parts add up to it. Whiskers are intervals where several runs tell.");
  const intro = lead("");
  intro.append(sum);
  body.append(intro, fallPlot(pair), h("details", {}, h("summary", {}, "The parts, as a table, with reasons"), contributionsTable(pair.contributions)));
}

function fallPlot(pair) {
  const bars = waterfallBars(pair.contributions, MOST_BARS);
  const ends = [0, ...bars.flatMap((bar) => [bar.to, ...whiskers(bar)])];
  let [lo, hi] = extent(ends);
  if (hi === lo) [lo, hi] = [lo - 1, hi + 1];
  const x = (ns) => FALL.left + (ns - lo) / (hi - lo) * (FALL.width - FALL.left - FALL.right);
  const height = FALL.top + bars.length * FALL.row + FALL.bottom;
  const y = (row) => FALL.top + row * FALL.row;
  const marks = ticks(lo, hi).flatMap((ns) => [
    svgElement("line", { class: "grid", x1: x(ns), x2: x(ns), y1: FALL.top, y2: height - FALL.bottom }),
    svgElement("text", { x: x(ns), y: height - 8, "text-anchor": "middle" }, ns === 0 ? "0" : (ns < 0 ? "−" : "+") + formatTime(Math.abs(ns))),
  ]);
  const zero = svgElement("line", { class: "zero", x1: x(0), x2: x(0), y1: FALL.top, y2: height - FALL.bottom });
  return scrollBox("Waterfall", svgElement("svg", { class: "plot wide", viewBox: `0 0 ${FALL.width} ${height}`, role: "group", "aria-label": "Waterfall of contributions" },
    ...marks, zero, ...bars.flatMap((bar, row) => fallBar(bar, x, y(row), pair))));
}

const whiskers = ({ part, from }) => (part && isKnown(part.lo_ns) && isKnown(part.hi_ns) ? [from + part.lo_ns, from + part.hi_ns] : []);

function fallBar(bar, x, y, pair) {
  const [left, right] = extent([x(bar.from), x(bar.to)]);
  const middle = y + FALL.row / 2;
  const name = bar.part ? bar.part.name : "all others";
  const parts = [
    svgElement("text", { x: FALL.left - 10, y: middle + 4, "text-anchor": "end", class: "ink" }, name.length > 46 ? `${name.slice(0, 45)}…` : name),
    tip.on(svgElement("rect", { class: bar.delta < 0 ? "less" : "longer", x: left, y: y + 4, width: Math.max(1, right - left), height: FALL.row - 8, rx: 2 }), () => fallTip(bar, pair)),
    svgElement("line", { class: "grid", x1: x(bar.to), x2: x(bar.to), y1: y + 4, y2: y + FALL.row + 4 }),
  ];
  const ends = whiskers(bar);
  if (ends.length === 2) parts.push(svgElement("line", { class: "whisker", x1: x(ends[0]), x2: x(ends[1]), y1: middle, y2: middle }));
  if (bar.part) parts.push(svgElement("text", { x: Math.max(right, ...ends.map(x)) + 6, y: middle + 4 }, withSign("ns", bar.delta)));
  return parts;
}

function fallTip({ part }, pair) {
  if (part === null) return `${pair.contributions.length - MOST_BARS} smaller parts together`;
  return tip.rows(part.name, [["kind", part.kind.replaceAll("_", " ")], ["a step", withSign("ns", part.delta_ns)], ["from", withSign("ns", part.lo_ns)], ["to", withSign("ns", part.hi_ns)], ["why", part.detail ?? "–"]]);
}

function contributionsTable(rows) {
  const columns = [
    { head: "what changed", text: true, class: "name", key: (c) => c.name, cell: (c) => c.name },
    { head: "kind", text: true, key: (c) => c.kind, cell: (c) => c.kind.replaceAll("_", " ") },
    { head: "a step", key: (c) => c.delta_ns, cell: (c) => defined("contribution", withSign("ns", c.delta_ns)) },
    { head: "interval", key: (c) => c.lo_ns, cell: (c) => (isKnown(c.lo_ns) && isKnown(c.hi_ns) ? defined("interval", `${withSign("ns", c.lo_ns)} … ${withSign("ns", c.hi_ns)}`) : "–") },
    { head: "rank", key: (c) => c.rank, cell: (c) => (c.rank === null ? "–" : pickRank(c.rank)) },
    { head: "why", text: true, class: "name", key: (c) => c.detail ?? "", cell: (c) => c.detail ?? "" },
  ];
  return table({ columns, rows, sort: [-1, "descending"], limit: 12, label: "Contributions" });
}
