// Size against bus bandwidth, both axes logarithmic: sizes and rates span orders of magnitude.
import { svgElement } from "../dom.js";
import { formatBytes, formatRate, formatTime } from "../pure/format.js";
import { fitTransfer } from "../pure/fit.js";
import { extent, logarithmic } from "../pure/scale.js";
import { tip } from "../tip.js";

const VIEW = { width: 1240, height: 290, left: 74, right: 20, top: 14, bottom: 30 };

export function bandwidthPlot(groups) {
  const [sizes, rates] = [logarithmic(groups.map((g) => g.bytes), 16), logarithmic(groups.map((g) => g.busbw_gbps_mean), 10)];
  const x = (bytes) => VIEW.left + sizes.at(bytes) * (VIEW.width - VIEW.left - VIEW.right);
  const y = (rate) => VIEW.height - VIEW.bottom - rates.at(rate) * (VIEW.height - VIEW.bottom - VIEW.top);
  const [, most] = extent(groups.map((g) => g.exposed_ns));
  const radius = (g) => 4 + 10 * Math.sqrt(Math.max(0, g.exposed_ns) / Math.max(1, most));
  // Small dots over large ones.
  const dots = [...groups].sort((a, b) => b.exposed_ns - a.exposed_ns).map((g) => bandwidthDot(g, x(g.bytes), y(g.busbw_gbps_mean), radius(g)));
  return svgElement("svg", { class: "plot", viewBox: `0 0 ${VIEW.width} ${VIEW.height}`, role: "group", "aria-label": "Size against bus bandwidth" },
    ...sizes.marks.flatMap((bytes) => sizeMark(bytes, x(bytes))), ...rates.marks.flatMap((rate) => rateMark(rate, y(rate))), ...fittedLines(groups, x, y), ...dots);
}

const SAMPLES = 48;
const sortOf = (g) => `${g.kind}/${g.ranks}`;

// Of every sort of collective with enough sizes, what its transfers would reach if each took a start and its bytes at one rate.
function fittedLines(groups, x, y) {
  const sorts = [...new Set(groups.map(sortOf))];
  return sorts.flatMap((sort) => {
    const list = groups.filter((g) => sortOf(g) === sort);
    const line = fitTransfer(list.map((g) => ({ bytes: g.bytes, ns: g.transfer_ns_mean })));
    if (line === null) return [];
    const [least, most] = extent(list.map((g) => g.bytes));
    // Bytes that count as traffic of a bus, for every byte.
    const traffic = list[0].busbw_gbps_mean * list[0].transfer_ns_mean / list[0].bytes;
    const sizes = Array.from({ length: SAMPLES }, (_, i) => least * (most / least) ** (i / (SAMPLES - 1)));
    const points = sizes.map((bytes) => `${x(bytes).toFixed(1)},${y(traffic * bytes / (line.start + line.slope * bytes)).toFixed(1)}`);
    return [svgElement("polyline", { class: "line fitted", points: points.join(" ") })];
  });
}

function sizeMark(bytes, x) {
  const floor = VIEW.height - VIEW.bottom;
  return [
    svgElement("line", { class: "grid", x1: x, x2: x, y1: VIEW.top, y2: floor }),
    svgElement("text", { x, y: floor + 17, "text-anchor": "middle" }, formatBytes(Math.round(bytes))),
  ];
}

function rateMark(rate, y) {
  return [
    svgElement("line", { class: "grid", x1: VIEW.left, x2: VIEW.width - VIEW.right, y1: y, y2: y }),
    svgElement("text", { x: VIEW.left - 8, y: y + 4, "text-anchor": "end" }, formatRate(rate)),
  ];
}

function bandwidthDot(g, cx, cy, r) {
  const said = `${g.name} ${formatBytes(g.bytes)}: ${formatRate(g.busbw_gbps_mean)}`;
  return tip.on(svgElement("circle", { cx, cy, r, role: "img", tabindex: "0", "aria-label": said }), () => tip.rows(`${g.name} ${g.dtype}`, [
    ["Size", formatBytes(g.bytes)], ["Ranks", String(g.ranks)], ["Matched", `${g.matched} of ${g.count}`],
    ["Bus bandwidth", formatRate(g.busbw_gbps_mean)], ["Exposed", formatTime(g.exposed_ns)],
  ]));
}
