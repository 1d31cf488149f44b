// Rank by step as a heat map on a canvas: a thousand ranks by a hundred steps is too many elements and few pixels.
import { onRedraw, penOn, theme } from "../canvas.js";
import { select } from "../controls.js";
import { empty, h, lead, note, section } from "../dom.js";
import { labelColumns, labelRamp, labelRows, plane } from "../plane.js";
import { formatShare, formatTime, plural, rankList } from "../pure/format.js";
import { stepGrid } from "../pure/grid.js";
import { RAMPS, colourRange, rampColour, rampGradient, within } from "../pure/ramp.js";
import { tip } from "../tip.js";

const METRICS = [["total", "Step total"], ["exposed_comm", "Exposed communication"], ["exposed_memcpy", "Exposed memcpy"], ["idle", "Idle"], ["computation", "Computation"]];

export function drawSteps(doc) {
  const { body, bar } = section("steps");
  const grid = stepGrid(doc.ranks);
  if (grid.steps.length === 0) return body.append(empty("No rank marks its steps, so there is nothing to show here. Call the profiler's step(), or annotate steps, to get this view."));
  const said = `Heat map of ${plural(grid.ranks.length, "rank")} by ${plural(grid.steps.length, "step")}; arrow keys read cells`;
  const map = { grid, metric: "total", size: { w: 1, h: 1 }, ramp: h("span", { class: "ramp" }), ...plane({ tabindex: "0", "aria-label": said }, "step") };
  const redraw = (colours) => paintMap(map, RAMPS[colours ?? theme()]);
  const choose = (metric) => {
    map.metric = metric;
    redraw();
  };
  bar.append(select("Colour shows", METRICS, choose), h("span", { class: "spacer" }), map.ramp);
  body.append(lead("Time of every step on every rank. A column that stands out is a slow step, a row a slow rank. Arrow keys move from cell to cell."), map.element);
  if (grid.unmarked.length > 0) body.append(note(`Without steps: rank ${rankList(grid.unmarked)}.`));
  redraw();
  answer(map);
  onRedraw(redraw);
  addEventListener("beforeprint", () => redraw("light"));
  addEventListener("afterprint", () => redraw());
}

function paintMap(map, colours) {
  const { steps, ranks, cells } = map.grid;
  const times = cells.flatMap((row) => row.filter((time) => time !== null).map((time) => time[map.metric]));
  const range = colourRange(times);
  map.size = { w: Math.max(2, Math.min(110, Math.floor(map.width() / steps.length))), h: Math.max(1, Math.min(22, Math.floor(640 / ranks.length))) };
  paintCells(map, range, colours);
  labelRamp(map.ramp, (range.below ? "≤ " : "") + formatTime(range.lo), rampGradient(colours), (range.above ? "≥ " : "") + formatTime(range.hi));
  labelRows(map.rows, ranks.map((rank) => rank.rank), map.size.h, "rank");
  labelColumns(map.under, steps, map.size.w);
}

function paintCells({ grid: { steps, ranks, cells }, metric, size, canvas }, range, colours) {
  // Whole device pixels, or neighbours would run into each other.
  const pen = penOn(canvas, steps.length * size.w, ranks.length * size.h, Math.max(1, Math.round(devicePixelRatio || 1)));
  const gap = size.w > 6 && size.h > 6 ? 1 : 0;
  cells.forEach((row, y) => row.forEach((time, x) => {
    if (time === null) return;
    pen.fillStyle = rampColour(colours, within(range, time[metric]));
    pen.fillRect(x * size.w, y * size.h, size.w - gap, size.h - gap);
  }));
}

const inside = ({ steps, ranks }, x, y) => x >= 0 && y >= 0 && x < steps.length && y < ranks.length;

function describeCell({ grid: { steps, ranks, cells } }, x, y) {
  const time = cells[y][x];
  const title = `Rank ${ranks[y].rank}, step ${steps[x]}`;
  if (time === null) return [`${title}: no such step in this rank's trace`];
  return tip.rows(title, METRICS.map(([key, name]) => [name, formatTime(time[key]), key === "total" ? "" : formatShare(time[key], time.total)]));
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// Cells say what they are to the pointer and to the arrow keys.
function answer(map) {
  let cursor = null;
  tip.over(map.canvas, (px, py) => {
    const [x, y] = [Math.floor(px / map.size.w), Math.floor(py / map.size.h)];
    return inside(map.grid, x, y) ? describeCell(map, x, y) : null;
  });
  map.canvas.addEventListener("keydown", (event) => {
    const way = ARROWS[event.key];
    if (!way) return;
    event.preventDefault();
    const next = cursor === null ? [0, 0] : [cursor[0] + way[0], cursor[1] + way[1]];
    if (!inside(map.grid, ...next)) return;
    cursor = next;
    const box = map.canvas.getBoundingClientRect();
    tip.show(describeCell(map, ...cursor), box.left + (cursor[0] + 0.5) * map.size.w, box.top + (cursor[1] + 0.5) * map.size.h);
  });
}
