// Offsets of nodes over time on a canvas, each with its band: against the clock's own straight line, or as measured.

const nodes = JSON.parse(document.getElementById("document").textContent);
const drawable = nodes.filter((node) => node.x.length > 0);

// Told apart with any colour vision; a ninth node takes the first colour again, dashed.
const COLOURS = {
  light: ["#0072b2", "#d55e00", "#009e73", "#a6398c", "#8a6d00", "#3a8fc4", "#b3261e", "#5b6470"],
  dark: ["#5ab4f0", "#ff9447", "#35d0a0", "#e58fd0", "#e0c050", "#9fd3f7", "#ff8a80", "#aab3bd"],
};
const HEIGHT = 440;
const MARGIN = { left: 76, right: 12, top: 12, bottom: 34 };

const colourOf = (i) => COLOURS[darkQuery.matches ? "dark" : "light"][i % 8];

// A round step of which between four and nine fit.
function ticks(lo, hi) {
  const raw = (hi - lo) / 6;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const list = [];
  for (let t = Math.ceil(lo / step); t * step <= hi; t++) list.push(t * step);
  return list;
}

// A band of milliseconds would flatten nanoseconds: the scale holds every line, and bands up to the widest but one in twenty.
function verticalRange(shown, value) {
  const values = [];
  const reaches = [];
  for (const node of shown) {
    node.x.forEach((_, k) => {
      values.push(value(node, k));
      for (const bound of [node.lo[k], node.hi[k]]) if (bound !== null) reaches.push(Math.abs(bound));
    });
  }
  const [lo, hi] = extent(values);
  reaches.sort((a, b) => a - b);
  const band = reaches.length > 0 ? reaches[Math.floor(0.95 * (reaches.length - 1))] : 0;
  const pad = Math.max(band, (hi - lo) * 0.05, 1) * 1.1;
  return [lo - pad, hi + pad];
}

function plot() {
  const canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": "Offset of every node over time; arrow keys read rounds" });
  const view = { how: "stray", node: "all", at: null };
  let frame = null;

  const shown = () => drawable.filter((node) => view.node === "all" || String(node.node) === view.node);
  const value = (node, k) => (view.how === "stray" ? node.stray[k] : node.offset[k]);

  function draw() {
    const width = Math.max(320, canvas.parentElement.clientWidth);
    const pen = penOn(canvas, width, HEIGHT);
    const [x0, x1] = extent(drawable.flatMap((node) => [node.x[0], node.x[node.x.length - 1]]));
    const [y0, y1] = verticalRange(shown(), value);
    const span = x1 > x0 ? x1 - x0 : 1;
    frame = {
      pen, width, x0, span,
      x: (t) => MARGIN.left + (t - x0) / span * (width - MARGIN.left - MARGIN.right),
      y: (v) => MARGIN.top + (y1 - v) / (y1 - y0) * (HEIGHT - MARGIN.top - MARGIN.bottom),
    };
    axes(y0, y1, x0, x0 + span);
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, MARGIN.top, width - MARGIN.left - MARGIN.right, HEIGHT - MARGIN.top - MARGIN.bottom);
    pen.clip();
    drawable.forEach((node, i) => shown().includes(node) && band(node, colourOf(i)));
    drawable.forEach((node, i) => shown().includes(node) && line(node, i));
    if (view.at !== null) cursor();
    pen.restore();
  }

  function axes(y0, y1, x0, x1) {
    const { pen, width, x, y } = frame;
    const { unit, text } = columnUnit(Math.max(Math.abs(y0), Math.abs(y1)) / 3);
    pen.lineWidth = 1;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const v of ticks(y0, y1)) {
      pen.strokeStyle = colour(Math.abs(v) < 1e-9 ? "--faint" : "--rule");
      pen.beginPath();
      pen.moveTo(MARGIN.left, Math.round(y(v)) + 0.5);
      pen.lineTo(width - MARGIN.right, Math.round(y(v)) + 0.5);
      pen.stroke();
      pen.fillStyle = colour("--muted");
      pen.fillText(`${text(v).replace("-", "−")} ${unit}`, MARGIN.left - 8, y(v));
    }
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (const t of ticks(x0, x1)) pen.fillText(formatTime(t * 1e9), x(t), HEIGHT - MARGIN.bottom + 8);
  }

  // Runs of rounds between steps and gaps in which `whole` holds.
  function runs(node, whole) {
    const list = [];
    let run = [];
    node.x.forEach((_, k) => {
      if (node.stepAt.has(k) || node.x[k] - node.x[k - 1] > node.pause || !whole(k)) {
        list.push(run);
        run = [];
      }
      if (whole(k)) run.push(k);
    });
    list.push(run);
    return list.filter((found) => found.length > 0);
  }

  function band(node, colour) {
    const { pen, x, y } = frame;
    pen.fillStyle = colour;
    pen.globalAlpha = Math.max(0.3 / Math.max(2, shown().length), 0.02);
    for (const run of runs(node, (k) => node.lo[k] !== null && node.hi[k] !== null)) {
      // One round alone has a band as wide as a hair.
      const ends = run.length > 1 ? run.map((k) => [x(node.x[k]), k]) : [[x(node.x[run[0]]) - 2, run[0]], [x(node.x[run[0]]) + 2, run[0]]];
      pen.beginPath();
      for (const [at, k] of ends) pen.lineTo(at, y(value(node, k) + node.hi[k]));
      for (const [at, k] of ends.reverse()) pen.lineTo(at, y(value(node, k) + node.lo[k]));
      pen.fill();
    }
    pen.globalAlpha = 1;
  }

  function line(node, i) {
    const { pen, x, y } = frame;
    pen.strokeStyle = pen.fillStyle = colourOf(i);
    pen.lineWidth = 1.5;
    pen.lineJoin = "round";
    pen.setLineDash(i >= 8 ? [6, 3] : []);
    for (const run of runs(node, () => true)) {
      pen.beginPath();
      for (const k of run) pen.lineTo(x(node.x[k]), y(value(node, k)));
      pen.stroke();
    }
    pen.setLineDash([2, 3]);
    for (const k of node.steps) {
      pen.beginPath();
      const middle = Math.round((x(node.x[k]) + x(node.x[Math.max(0, k - 1)])) / 2) + 0.5;
      pen.moveTo(middle, MARGIN.top);
      pen.lineTo(middle, HEIGHT - MARGIN.bottom);
      pen.stroke();
    }
    pen.setLineDash([]);
    const dots = node.x.length * shown().length < 400 ? node.x.keys() : [];
    for (const k of dots) disc(x(node.x[k]), y(value(node, k)), 2.2, true);
    for (const k of node.degraded) disc(x(node.x[k]), y(value(node, k)), 4.5, false);
  }

  function disc(cx, cy, radius, full) {
    const { pen } = frame;
    pen.beginPath();
    pen.arc(cx, cy, radius, 0, 2 * Math.PI);
    if (full) pen.fill();
    else pen.stroke();
  }

  function cursor() {
    const { pen, x } = frame;
    pen.strokeStyle = colour("--faint");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(Math.round(x(view.at)) + 0.5, MARGIN.top);
    pen.lineTo(Math.round(x(view.at)) + 0.5, HEIGHT - MARGIN.bottom);
    pen.stroke();
  }

  // What every shown node says at the round nearest to `t`.
  function reading(t) {
    const rows = shown().slice(0, 16).map((node) => {
      const k = nearest(node.x, t);
      if (Math.abs(node.x[k] - t) > node.pause / 2) return [`node ${node.node}`, "not placed"];
      const bounds = node.lo[k] === null || node.hi[k] === null ? "no bound" : `${signed(node.lo[k])} to ${signed(node.hi[k])}`;
      const marks = [node.stepAt.has(k) && "step", node.degradedAt.has(k) && "degraded"].filter(Boolean).join(", ");
      return [`node ${node.node}`, exact(node.offset[k]), signed(node.stray[k]), bounds, marks];
    });
    const first = shown()[0];
    const title = first ? `round ${first.round[nearest(first.x, t)]} · ${t.toFixed(1)} s` : "";
    const more = shown().length > 16 ? [`and ${shown().length - 16} more`] : [];
    return [...tip.rows(title, [["", "offset", "off its line", "bound", ""], ...rows]), ...more];
  }

  function point(t, clientX, clientY) {
    view.at = t;
    draw();
    tip.show(reading(t), clientX, clientY);
  }

  function leave() {
    view.at = null;
    tip.hide();
    draw();
  }

  canvas.addEventListener("pointermove", (event) => {
    const share = (event.offsetX - MARGIN.left) / (frame.width - MARGIN.left - MARGIN.right);
    const first = shown()[0];
    const t = frame.x0 + Math.min(1, Math.max(0, share)) * frame.span;
    if (first) point(first.x[nearest(first.x, t)], event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("blur", leave);
  canvas.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const first = shown()[0];
    if (way === undefined || !first) return;
    event.preventDefault();
    const k = view.at === null ? 0 : Math.min(first.x.length - 1, Math.max(0, nearest(first.x, view.at) + way));
    const box = canvas.getBoundingClientRect();
    point(first.x[k], box.left + frame.x(first.x[k]), box.top + 40);
  });
  const set = (key) => (chosen) => {
    view[key] = chosen;
    draw();
  };
  return { canvas, draw, how: set("how"), node: set("node") };
}

// A pause that is long for this list: a line across it would say what nobody measured.
function longPause(x) {
  const pauses = x.slice(1).map((t, k) => t - x[k]).sort((a, b) => a - b);
  return pauses.length > 0 ? 2.5 * pauses[pauses.length >> 1] : Infinity;
}

function nearest(list, t) {
  let lo = 0;
  let hi = list.length - 1;
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    if (list[mid] < t) lo = mid;
    else hi = mid;
  }
  return Math.abs(list[lo] - t) <= Math.abs(list[hi] - t) ? lo : hi;
}

// Every nanosecond: three digits of a second hide what was measured.
const exact = (ns) => (Math.abs(ns) < 1e6 ? signed(ns) : `${ns < 0 ? "−" : "+"}${(Math.abs(ns) / 1e9).toFixed(9)}${NBSP}s`);
const signed = (ns) => `${ns < 0 ? "−" : "+"}${Math.abs(ns)}${NBSP}ns`;

function legend() {
  return h("ul", { class: "legend" }, ...drawable.slice(0, 24).map((node, i) =>
    h("li", {}, h("span", { class: "swatch", style: { background: colourOf(i) } }), `node ${node.node}`)),
    drawable.length > 24 ? h("li", {}, `and ${drawable.length - 24} more`) : null);
}

function nodeTable() {
  const last = (node, list) => (list.length > 0 ? list[list.length - 1] : null);
  const half = (node) => (last(node, node.hi) === null || last(node, node.lo) === null ? null : (last(node, node.hi) - last(node, node.lo)) / 2);
  const never = "no edge led to this node";
  return table({
    label: "Clocks of nodes in their last round",
    rows: nodes,
    columns: [
      { head: "Node", text: true, key: (node) => node.node, cell: (node) => String(node.node) },
      { head: "Offset, last round", key: (node) => last(node, node.offset), cell: (node) => orAbsent(last(node, node.offset), exact, never) },
      { head: "Bound, ±", key: half, cell: (node) => orAbsent(half(node), formatTime, "nothing bounds it") },
      { head: "Drift", key: (node) => last(node, node.ppm), cell: (node) => orAbsent(last(node, node.ppm), (ppm) => `${ppm.toFixed(4).replace("-", "−")}${NBSP}ppm`, never) },
      { head: "Residual", key: (node) => last(node, node.residual), cell: (node) => orAbsent(last(node, node.residual), formatTime, never) },
      { head: "Unreachable", key: (node) => node.unreachable, cell: (node) => (node.unreachable ? plural(node.unreachable, "round") : "never") },
      { head: "Degraded", key: (node) => node.degraded.length, cell: (node) => (node.degraded.length ? plural(node.degraded.length, "round") : "never") },
      { head: "Steps", key: (node) => node.steps.length, cell: (node) => formatCount(node.steps.length) },
    ],
    sort: [0, "ascending"],
  });
}

function drawOffsets() {
  const { body, bar } = section("offsets");
  const chart = plot();
  const key = h("div", {}, legend());
  bar.append(
    segments("What is drawn", [["stray", "Off its own line"], ["offset", "As measured"]], "stray", chart.how),
    select("Nodes", [["all", "all"], ...drawable.map((node) => [String(node.node), `node ${node.node}`])], chart.node));
  body.append(
    lead("Each clock relative to its own straight line between two steps, so that nanoseconds are visible; the band is the guaranteed bound of the offset. Rings mark degraded rounds, dotted lines mark steps. Point at a round, or use the arrow keys."),
    h("div", {}, chart.canvas), key);
  chart.draw();
  onResize(chart.draw);
  darkQuery.addEventListener("change", () => {
    key.replaceChildren(legend());
    chart.draw();
  });
  section("nodes").body.append(nodeTable());
}

for (const node of nodes) {
  node.stepAt = new Set(node.steps);
  node.degradedAt = new Set(node.degraded);
  node.pause = longPause(node.x);
}
if (drawable.length > 0) drawOffsets();
