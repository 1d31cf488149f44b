// Collectives by what they move: size against bus bandwidth on both sides, and a table.
import { empty, lead, scrollBox, svgElement, swatches } from "../dom.js";
import { table } from "../table.js";
import { tip } from "../tip.js";
import { formatBytes, formatCount, formatRate, formatTime } from "../pure/format.js";
import { logarithmic } from "../pure/scale.js";
import { defined } from "./defined.js";
import { isKnown, signedPercent, withSign } from "./figures.js";
import { chip } from "./summary.js";

const SCATTER = { width: 1240, height: 300, left: 74, right: 20, top: 14, bottom: 30 };

export function drawMoved({ pair, beside }, body, bar) {
  const rows = beside?.collectives ?? [];
  if (rows.length === 0) return body.append(empty("Neither side has tables of collectives: the traces show none, or the reports were saved without them."));
  const placed = rows.filter((row) => row.bytes > 0 && (row.busbw.base > 0 || row.busbw.test > 0));
  body.append(lead("Size against bus bandwidth. A line joins a collective of the base to the same one of the test: upwards is faster."));
  if (placed.length > 0) {
    bar.append(swatches([{ css: "of-base", text: pair.base }, { css: "of-test", text: pair.test }]));
    body.append(scrollBox("Size and bus bandwidth", scatter(placed)));
  }
  body.append(movedTable(rows));
}

function scatter(rows) {
  const rates = rows.flatMap((row) => [row.busbw.base, row.busbw.test]).filter((rate) => rate > 0);
  const [sizes, speeds] = [logarithmic(rows.map((row) => row.bytes), 16), logarithmic(rates, 10)];
  const x = (bytes) => SCATTER.left + sizes.at(bytes) * (SCATTER.width - SCATTER.left - SCATTER.right);
  const y = (rate) => SCATTER.height - SCATTER.bottom - speeds.at(rate) * (SCATTER.height - SCATTER.bottom - SCATTER.top);
  const floor = SCATTER.height - SCATTER.bottom;
  const sizeMarks = sizes.marks.flatMap((bytes) => [
    svgElement("line", { class: "grid", x1: x(bytes), x2: x(bytes), y1: SCATTER.top, y2: floor }),
    svgElement("text", { x: x(bytes), y: floor + 17, "text-anchor": "middle" }, formatBytes(Math.round(bytes))),
  ]);
  const speedMarks = speeds.marks.flatMap((rate) => [
    svgElement("line", { class: "grid", x1: SCATTER.left, x2: SCATTER.width - SCATTER.right, y1: y(rate), y2: y(rate) }),
    svgElement("text", { x: SCATTER.left - 8, y: y(rate) + 4, "text-anchor": "end" }, formatRate(rate)),
  ]);
  const both = rows.filter((row) => row.busbw.base > 0 && row.busbw.test > 0);
  const lines = both.map((row) => svgElement("line", { class: "joins", x1: x(row.bytes), x2: x(row.bytes), y1: y(row.busbw.base), y2: y(row.busbw.test) }));
  const dots = rows.flatMap((row) => [["base", row.busbw.base], ["test", row.busbw.test]].filter(([, rate]) => rate > 0).map(([side, rate]) => dot(row, side, x(row.bytes), y(rate))));
  return svgElement("svg", { class: "plot wide", viewBox: `0 0 ${SCATTER.width} ${SCATTER.height}`, role: "group", "aria-label": "Size against bus bandwidth of base and test" }, ...sizeMarks, ...speedMarks, ...lines, ...dots);
}

function dot(row, side, cx, cy) {
  const shown = svgElement("circle", { class: `of-${side}`, cx, cy, r: 6, tabindex: "0", role: "img", "aria-label": `${row.name} ${formatBytes(row.bytes)} of the ${side}: ${formatRate(row.busbw[side])}` });
  return tip.on(shown, () => tip.rows(`${row.name} ${row.dtype}`, [
    ["size", formatBytes(row.bytes)], ["bus bandwidth", formatRate(row.busbw.base ?? NaN), formatRate(row.busbw.test ?? NaN)], ["latency", formatTime(row.latency.base), formatTime(row.latency.test)], ["change of latency", withSign("ns", row.latency.diff), signedPercent(row.latency.percent_change)],
  ]));
}

function movedTable(rows) {
  const columns = [
    { head: "collective", text: true, key: (r) => r.name, cell: (r) => r.name },
    { head: "type", text: true, key: (r) => r.dtype, cell: (r) => r.dtype },
    { head: "elements", key: (r) => r.in_elements, cell: (r) => (isKnown(r.in_elements) ? formatCount(r.in_elements) : "–") },
    ...(rows.some((r) => r.process_group) ? [{ head: "group", text: true, key: (r) => r.process_group ?? "", cell: (r) => r.process_group ?? "" }] : []),
    { head: "base latency", key: (r) => r.latency.base, cell: (r) => defined("latency", formatTime(r.latency.base)) },
    { head: "test latency", key: (r) => r.latency.test, cell: (r) => defined("latency", formatTime(r.latency.test)) },
    { head: "change", key: (r) => r.latency.diff, cell: (r) => defined("change", withSign("ns", r.latency.diff)) },
    { head: "% change", key: (r) => r.latency.percent_change, cell: (r) => defined("percent", signedPercent(r.latency.percent_change)) },
    { head: "base bus", key: (r) => r.busbw.base, cell: (r) => defined("busbw", formatRate(r.busbw.base ?? NaN)) },
    { head: "test bus", key: (r) => r.busbw.test, cell: (r) => defined("busbw", formatRate(r.busbw.test ?? NaN)) },
    { head: "count", key: (r) => r.count.test, cell: (r) => defined("count", `${isKnown(r.count.base) ? formatCount(r.count.base) : "–"} → ${isKnown(r.count.test) ? formatCount(r.count.test) : "–"}`) },
    { head: "status", text: true, key: (r) => r.status, cell: (r) => chip(r.status) },
  ];
  return table({ columns, rows, sort: [-1, "descending"], limit: 16, label: "Collectives of both sides" });
}
