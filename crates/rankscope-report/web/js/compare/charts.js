// Small charts of base and test: columns, lines over ranks, and a heat map. Axes have the unit of what they show.
import { h, scrollBox, svgElement } from "../dom.js";
import { pickable } from "../pick.js";
import { tip } from "../tip.js";
import { extent, labelEvery, ticks } from "../pure/scale.js";
import { isKnown } from "./figures.js";

const CHART = { width: 600, height: 265, left: 74, right: 12, top: 10, bottom: 62 };

// A chart with its title: what `draw` makes of an axis for `values`.
export const framed = (title, ...parts) => h("figure", {}, h("figcaption", {}, title), ...parts);

function axes(values, format, fromZero) {
  let [lo, hi] = extent([...values.filter(isKnown), ...(fromZero ? [0] : [])]);
  if (!(hi > lo)) [lo, hi] = Number.isFinite(lo) ? [lo - 1, hi + 1] : [0, 1];
  const pad = (hi - lo) * 0.06;
  [lo, hi] = [fromZero && lo === 0 ? 0 : lo - pad, fromZero && hi === 0 ? 0 : hi + pad];
  const y = (v) => CHART.top + (hi - v) / (hi - lo) * (CHART.height - CHART.top - CHART.bottom);
  const marks = ticks(lo, hi).flatMap((v) => [
    svgElement("line", { class: v === 0 ? "zero" : "grid", x1: CHART.left, x2: CHART.width - CHART.right, y1: y(v), y2: y(v) }),
    svgElement("text", { x: CHART.left - 7, y: y(v) + 4, "text-anchor": "end" }, format(v)),
  ]);
  return { y, marks };
}

const svgChart = (label, parts) => scrollBox(label, svgElement("svg", { class: "plot", viewBox: `0 0 ${CHART.width} ${CHART.height}`, role: "group", "aria-label": label }, ...parts));

// columns: { name, values: [[css, value]...], tip() }.
export function columnChart(label, columns, format) {
  const { y, marks } = axes(columns.flatMap((column) => column.values.map(([, v]) => v)), format, true);
  const pitch = (CHART.width - CHART.left - CHART.right) / Math.max(1, columns.length);
  const bars = columns.flatMap((column, i) => columnBars(column, CHART.left + i * pitch, pitch, y));
  const every = labelEvery(columns.length, pitch, 24);
  const names = columns.flatMap((column, i) => (i % every === 0 ? [slanted(column.name, CHART.left + (i + 0.5) * pitch, columns.length > 4)] : []));
  return svgChart(label, [...marks, ...bars, ...names]);
}

function columnBars(column, left, pitch, y) {
  const width = pitch * 0.7 / column.values.length;
  return column.values.map(([css, value], k) => {
    if (!isKnown(value)) return svgElement("g");
    const [top, bottom] = extent([y(value), y(0)]);
    const bar = svgElement("rect", { class: css, x: left + pitch * 0.15 + k * width, y: top, width: Math.max(1, width - 1), height: Math.max(1, bottom - top) });
    return tip.on(bar, column.tip);
  });
}

function slanted(name, x, slants) {
  const y = CHART.height - CHART.bottom + 14;
  const text = name.length > 18 ? `${name.slice(0, 17)}…` : name;
  return slants ? svgElement("text", { x, y, "text-anchor": "end", transform: `rotate(-24 ${x} ${y})` }, text) : svgElement("text", { x, y, "text-anchor": "middle" }, text);
}

// lines: [[css, values]...] over `names`.
export function lineChart(label, names, lines, format) {
  const { y, marks } = axes(lines.flatMap(([, values]) => values), format, false);
  const pitch = (CHART.width - CHART.left - CHART.right) / Math.max(1, names.length);
  const x = (i) => CHART.left + (i + 0.5) * pitch;
  const drawn = lines.flatMap(([css, values]) => [
    svgElement("path", { class: `line ${css}`, d: pathOf(values, x, y) }),
    svgElement("path", { class: `dots ${css}`, d: values.map((v, i) => (isKnown(v) ? `M${x(i).toFixed(1)} ${y(v).toFixed(1)}h0` : "")).join("") }),
  ]);
  const every = labelEvery(names.length, pitch, 26);
  const labels = names.flatMap((name, i) => (i % every === 0 ? [svgElement("text", { x: x(i), y: CHART.height - CHART.bottom + 16, "text-anchor": "middle" }, i === 0 ? `rank ${name}` : String(name))] : []));
  const covers = names.map((name, i) => tip.on(pickable(svgElement("rect", { class: "cover", x: CHART.left + i * pitch, y: CHART.top, width: pitch, height: CHART.height - CHART.top - CHART.bottom }), { rank: name }),
    () => tip.rows(`Rank ${name}`, lines.map(([css, values]) => [css === "of-base" ? "base" : "test", isKnown(values[i]) ? format(values[i]) : "–"]))));
  return svgChart(label, [...marks, ...drawn, ...labels, ...covers]);
}

function pathOf(values, x, y) {
  let pen = "M";
  return values.map((v, i) => {
    if (!isKnown(v)) {
      pen = "M";
      return "";
    }
    const part = `${pen}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    pen = "L";
    return part;
  }).join("");
}

// A cell for each row and column, coloured by `look(value)`: a class and how much of it, 0 to 1.
export function heatTable(label, rows, columns, value, look, format) {
  const head = h("tr", {}, h("td", {}), ...columns.map((column) => h("th", { scope: "col" }, column)));
  const cell = (row, column) => {
    const v = value(row, column);
    const [css, much] = look(v);
    return h("td", { class: `heat ${css}` }, h("span", { class: "heat-fill", style: { opacity: String(much) } }), h("span", { class: "heat-text" }, format(v)));
  };
  const body = rows.map((row) => h("tr", {}, h("th", { scope: "row" }, row), ...columns.map((column) => cell(row, column))));
  return scrollBox(label, h("table", { class: "heats", "aria-label": label }, h("thead", {}, head), h("tbody", {}, ...body)));
}
