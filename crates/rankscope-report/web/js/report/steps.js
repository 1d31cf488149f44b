// Rank by step as a heat map on a canvas: a thousand ranks by a hundred steps is too many elements and few pixels.
import { onRedraw, penOn, theme } from "../canvas.js";
import { segments, select } from "../controls.js";
import { empty, h, lead, note, section } from "../dom.js";
import { pickRank } from "../pick.js";
import { labelColumns, labelRamp, labelRows, plane } from "../plane.js";
import { formatTime, plural, rankList, signedTime } from "../pure/format.js";
import { DIVERGING, RAMPS, colourRange, divergingRange, rampColour, rampGradient, within } from "../pure/ramp.js";
import { latestCells, mapCell, mapColumn, mapColumns, mapRow, mapRows, mapSpan, mapValue, mapValues, rowOrder } from "../pure/step_map.js";
import { selection } from "../selection.js";
import { table } from "../table.js";
import { tip } from "../tip.js";

const METRICS = [["lateness", "Lateness"], ["total", "Step total"], ["computation", "Computation"], ["exposed_comm", "Exposed communication"], ["exposed_memcpy", "Exposed memcpy"], ["idle", "Idle"]];
const ABOUT = "Lateness is how much more time a rank spent outside of communication than the median rank of the step: it comes that much later to where the others wait.";

export function drawSteps(doc) {
  const { body, bar } = section("steps");
  const { step_map: map } = doc;
  if (!map) return body.append(empty("No rank marks its steps, so there is nothing to show here. Call the profiler's step(), or annotate steps, to get this view."));
  const hasLateness = mapValues(map, "lateness").length > 0;
  const metrics = hasLateness ? METRICS : METRICS.slice(1);
  const said = `Heat map of ${plural(map.ranks.length, "rank")} by ${plural(map.steps.length, "step")}; arrow keys select cells, the table below lists the latest`;
  const view = { map, metrics, metric: metrics[0][0], order: rowOrder(map, false), size: { w: 1, h: 1 }, ramp: h("span", { class: "ramp" }), base: document.createElement("canvas"), ...plane({ tabindex: "0", "aria-label": said }, "step") };
  const redraw = (mode) => paintMap(view, mode === "light" ? mode : theme());
  const choose = (metric) => {
    view.metric = metric;
    redraw();
  };
  const arrange = (order) => {
    view.order = rowOrder(map, order === "late");
    redraw();
  };
  const order = hasLateness && map.ranks.length > 2 ? segments("Order of ranks", [["rank", "By rank"], ["late", "Latest first"]], "rank", arrange) : null;
  bar.append(select("Colour shows", metrics, choose), ...(order === null ? [] : [order]), h("span", { class: "spacer" }), view.ramp);
  const tiles = map.shown ? ` Each cell is ${plural(map.ranks_per_row, "rank")} by ${plural(map.steps_per_column, "step")}, and shows the latest of them.` : "";
  body.append(lead(`${hasLateness ? ABOUT : "Time of every step."} Click a cell, or go there with arrow keys, to select its rank and step everywhere.${tiles}`), view.element);
  const missing = doc.ranks.map((rank) => rank.rank).filter((rank) => !map.ranks.includes(rank));
  if (missing.length > 0) body.append(note(`Without steps: rank ${rankList(missing)}.`));
  if (hasLateness) body.append(...latestTable(map));
  redraw();
  answer(view);
  selection.watch(() => overlay(view));
  onRedraw(redraw);
  addEventListener("beforeprint", () => redraw("light"));
  addEventListener("afterprint", () => redraw());
}

function paintMap(view, mode) {
  const { map, metric } = view;
  const [rows, columns] = [mapRows(map), mapColumns(map)];
  const isLateness = metric === "lateness";
  const values = mapValues(map, metric);
  const range = isLateness ? divergingRange(values) : colourRange(values);
  const colours = (isLateness ? DIVERGING : RAMPS)[mode];
  view.size = { w: Math.max(view.width() / columns >= 2 ? 2 : 1, Math.min(110, Math.floor(view.width() / columns))), h: Math.max(1, Math.min(22, Math.floor(320 / rows))) };
  paintCells(view, range, colours);
  overlay(view);
  const written = isLateness ? signedTime : formatTime;
  labelRamp(view.ramp, (range.below ? "≤ " : "") + written(range.lo), rampGradient(colours), (range.above ? "≥ " : "") + written(range.hi));
  labelRows(view.rows, view.order.map((row) => map.ranks[row * map.ranks_per_row]), view.size.h, "rank");
  labelColumns(view.under, Array.from({ length: columns }, (_, at) => map.steps[at * map.steps_per_column]), view.size.w);
}

// Whole device pixels, or neighbours would run into each other.
const sharpness = () => Math.max(1, Math.round(devicePixelRatio || 1));

function paintCells({ map, metric, size, base, order }, range, colours) {
  const columns = mapColumns(map);
  const pen = penOn(base, columns * size.w, order.length * size.h, sharpness());
  const gap = size.w > 6 && size.h > 6 ? 1 : 0;
  order.forEach((row, y) => {
    for (let x = 0; x < columns; x++) {
      const value = mapValue(map, metric, row, x);
      if (value === null) continue;
      pen.fillStyle = rampColour(colours, within(range, value));
      pen.fillRect(x * size.w, y * size.h, size.w - gap, size.h - gap);
    }
  });
}

// The cells, and a frame around the row and the column that are selected.
function overlay({ map, size, base, order, canvas }) {
  const [width, height] = [mapColumns(map) * size.w, order.length * size.h];
  const pen = penOn(canvas, width, height, sharpness());
  pen.drawImage(base, 0, 0, width, height);
  const { rank, step } = selection.get();
  pen.strokeStyle = getComputedStyle(canvas).color;
  pen.lineWidth = 1.5;
  const y = rank === null ? -1 : order.indexOf(mapRow(map, rank));
  const x = step === null ? -1 : mapColumn(map, step);
  if (y >= 0) pen.strokeRect(0.75, y * size.h - 0.75, width - 1.5, size.h + 0.5);
  if (x >= 0) pen.strokeRect(x * size.w - 0.75, 0.75, size.w + 0.5, height - 1.5);
}

function describeCell({ map, metrics, order }, x, y) {
  const row = order[y];
  const { rank, step } = mapCell(map, row, x);
  const title = `Rank ${rank}, step ${step}`;
  if (mapValue(map, "total", row, x) === null) return [`${title}: no such step in this rank's trace`];
  const figure = (key) => (key === "lateness" ? signedTime : formatTime)(mapValue(map, key, row, x));
  const pairs = metrics.filter(([key]) => mapValue(map, key, row, x) !== null).map(([key, name]) => [name, figure(key)]);
  return tip.rows(map.shown ? `${title}, latest of ranks ${mapSpan(map.ranks, map.ranks_per_row, row).join(" to ")}, steps ${mapSpan(map.steps, map.steps_per_column, x).join(" to ")}` : title, pairs);
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// Cells say what they are to the pointer; a click and the arrow keys select them.
function answer(view) {
  const { canvas, map } = view;
  const at = (px, py) => [Math.floor(px / view.size.w), Math.floor(py / view.size.h)];
  const inside = (x, y) => x >= 0 && y >= 0 && x < mapColumns(map) && y < view.order.length;
  const take = (x, y) => selection.choose(mapCell(map, view.order[y], x));
  tip.over(canvas, (px, py) => (inside(...at(px, py)) ? describeCell(view, ...at(px, py)) : null));
  canvas.addEventListener("click", (event) => {
    const cell = at(event.offsetX, event.offsetY);
    if (inside(...cell)) take(...cell);
  });
  canvas.addEventListener("keydown", (event) => {
    const way = ARROWS[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const { rank, step } = selection.get();
    const known = rank !== null && step !== null;
    const next = known ? [mapColumn(map, step) + way[0], view.order.indexOf(mapRow(map, rank)) + way[1]] : [0, 0];
    if (!inside(...next)) return;
    take(...next);
    const box = canvas.getBoundingClientRect();
    tip.show(describeCell(view, ...next), box.left + (next[0] + 0.5) * view.size.w, box.top + (next[1] + 0.5) * view.size.h);
  });
}

const LATEST = 40;

// What the map shows at its darkest, in words and as a table.
function latestTable(map) {
  const rows = latestCells(map, LATEST);
  if (rows.length === 0) return [note("No rank was later than the median one in any step.")];
  const value = (key) => (cell) => mapValue(map, key, cell.row, cell.column);
  const time = (key, head) => ({ head, key: value(key), cell: (cell) => formatTime(value(key)(cell)) });
  const [first] = rows;
  return [
    note(`Latest: rank ${first.rank} in step ${first.step}, by ${formatTime(value("lateness")(first))}.`),
    h("details", {}, h("summary", {}, "The latest, as a table"), table({
      label: "Ranks and steps with most lateness",
      rows,
      limit: 12,
      columns: [
        { head: "Rank", text: true, first: "ascending", key: (cell) => cell.rank, cell: (cell) => pickRank(cell.rank) },
        { head: "Step", first: "ascending", key: (cell) => cell.step, cell: (cell) => String(cell.step) },
        time("lateness", "Lateness"), time("total", "Step total"), time("computation", "Computation"), time("exposed_comm", "Exposed communication"), time("idle", "Idle"),
      ],
      sort: [2, "descending"],
    })),
  ];
}
