// Rank by step as a heat map on a canvas: a thousand ranks by a hundred steps is too many elements and few pixels.

const METRICS = [["total", "Step total"], ["exposed_comm", "Exposed communication"], ["exposed_memcpy", "Exposed memcpy"], ["idle", "Idle"], ["computation", "Computation"]];

function drawSteps(doc) {
  const { body, bar } = section("steps");
  const grid = stepGrid(doc);
  if (grid.steps.length === 0) return body.append(empty("No rank marks its steps, so there is nothing to show here. Call the profiler's step(), or annotate steps, to get this view."));
  const map = heatMap(grid);
  bar.append(select("Colour shows", METRICS, map.draw), h("span", { class: "spacer" }), map.ramp);
  body.append(lead("Time of every step on every rank. A column that stands out is a slow step, a row a slow rank. Arrow keys move from cell to cell."), map.element);
  if (grid.unmarked.length > 0) body.append(note(`Without steps: rank ${rankList(grid.unmarked)}.`));
  map.draw("total");
  darkQuery.addEventListener("change", map.redraw);
  onResize(map.redraw);
  addEventListener("beforeprint", () => map.redraw("light"));
  addEventListener("afterprint", map.redraw);
}

// Steps are columns by their number: ranks that recorded different steps still line up.
function stepGrid(doc) {
  const numbers = new Set();
  for (const rank of doc.ranks) for (const step of rank.steps) numbers.add(step.step);
  const steps = [...numbers].sort((a, b) => a - b);
  const column = new Map(steps.map((step, i) => [step, i]));
  const ranks = doc.ranks.filter((rank) => rank.steps.length > 0);
  const unmarked = doc.ranks.filter((rank) => rank.steps.length === 0).map((rank) => rank.rank);
  const cells = ranks.map((rank) => {
    const row = new Array(steps.length).fill(null);
    for (const step of rank.steps) row[column.get(step.step)] ??= step.time_ns;
    return row;
  });
  return { steps, ranks, unmarked, cells };
}

// A first step ten times as long would leave the others one colour: beyond twice the middle spread the scale is cut and says so.
function scale(values) {
  const sorted = Float64Array.from(values).sort();
  const at = (q) => sorted[Math.round(q * (sorted.length - 1))];
  const reach = 2 * (at(0.9) - at(0.1));
  const [min, max] = [sorted[0], sorted[sorted.length - 1]];
  const lo = Math.max(min, at(0.1) - reach);
  const hi = Math.min(max, at(0.9) + reach);
  return hi > lo ? { lo, hi, below: min < lo, above: max > hi } : { lo: min, hi: max, below: false, above: false };
}

function heatMap({ steps, ranks, cells }) {
  const canvas = h("canvas", { tabindex: "0", role: "img" });
  const rows = h("div", { class: "labels", "aria-hidden": "true" });
  const under = h("div", { class: "under", "aria-hidden": "true" });
  const frame = h("div", { class: "plane" }, rows, h("div", {}, canvas), under, h("div", { class: "axis-title" }, "step"));
  const element = h("div", { class: "canvas-box" }, frame);
  const ramp = h("span", { class: "ramp" });
  let metric = "total";
  let size = { w: 1, h: 1 };
  let cursor = null;

  function draw(chosen) {
    metric = chosen;
    redraw();
  }

  function redraw(theme) {
    const room = Math.max(240, (element.clientWidth || 1100) - 90);
    size = { w: Math.max(2, Math.min(110, Math.floor(room / steps.length))), h: Math.max(1, Math.min(22, Math.floor(640 / ranks.length))) };
    const colours = RAMPS[theme === "light" || theme === "dark" ? theme : darkQuery.matches ? "dark" : "light"];
    const range = scale(cells.flatMap((row) => row.filter((time) => time !== null).map((time) => time[metric])));
    paint(range, colours);
    ramp.replaceChildren(
      (range.below ? "≤ " : "") + formatTime(range.lo),
      h("i", { style: { background: `linear-gradient(to right, ${colours.map((c) => `rgb(${c})`).join(", ")})` } }),
      (range.above ? "≥ " : "") + formatTime(range.hi));
    canvas.setAttribute("aria-label", `Heat map of ${plural(ranks.length, "rank")} by ${plural(steps.length, "step")}; arrow keys read cells`);
    labels();
  }

  function paint(range, colours) {
    const ratio = Math.max(1, Math.round(devicePixelRatio || 1));
    canvas.width = steps.length * size.w * ratio;
    canvas.height = ranks.length * size.h * ratio;
    canvas.style.width = `${steps.length * size.w}px`;
    canvas.style.height = `${ranks.length * size.h}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const gap = size.w > 6 && size.h > 6 ? 1 : 0;
    cells.forEach((row, y) => row.forEach((time, x) => {
      if (time === null) return;
      const t = range.hi > range.lo ? (time[metric] - range.lo) / (range.hi - range.lo) : 0.3;
      context.fillStyle = `rgb(${rampColour(colours, t)})`;
      context.fillRect(x * size.w, y * size.h, size.w - gap, size.h - gap);
    }));
  }

  function labels() {
    const every = (count, pixels, least) => [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].find((n) => n * pixels >= least) ?? count;
    const down = every(ranks.length, size.h, 13);
    rows.replaceChildren(...ranks.flatMap((rank, y) => (y % down === 0 ? [h("span", { style: { top: `${(y + 0.5) * size.h}px` } }, `${y === 0 ? "rank " : ""}${rank.rank}`)] : [])));
    const across = every(steps.length, size.w, 34);
    under.replaceChildren(...steps.flatMap((step, x) => (x % across === 0 ? [h("span", { style: { left: `${(x + 0.5) * size.w}px` } }, String(step))] : [])));
  }

  function describe(x, y) {
    const time = cells[y][x];
    const title = `Rank ${ranks[y].rank}, step ${steps[x]}`;
    if (time === null) return [`${title}: no such step in this rank's trace`];
    return tip.rows(title, METRICS.map(([key, name]) => [name, formatTime(time[key]), key === "total" ? "" : formatShare(time[key], time.total)]));
  }

  const inside = (x, y) => x >= 0 && y >= 0 && x < steps.length && y < ranks.length;
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = [Math.floor(event.offsetX / size.w), Math.floor(event.offsetY / size.h)];
    if (inside(x, y)) tip.show(describe(x, y), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => tip.hide());
  canvas.addEventListener("blur", () => tip.hide());
  canvas.addEventListener("keydown", (event) => {
    const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
    if (dx === 0 && dy === 0) return;
    event.preventDefault();
    const next = cursor === null ? [0, 0] : [cursor[0] + dx, cursor[1] + dy];
    if (!inside(...next)) return;
    cursor = next;
    const box = canvas.getBoundingClientRect();
    tip.show(describe(...cursor), box.left + (cursor[0] + 0.5) * size.w, box.top + (cursor[1] + 0.5) * size.h);
  });
  return { element, ramp, draw, redraw };
}
