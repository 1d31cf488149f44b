// One step on all ranks, in time: when each came to every collective, how long it waited there, and how long the transfer took.
import { cssVariable, onRedraw, penOn, sharp } from "../canvas.js";
import { h, lead, note, section, swatches } from "../dom.js";
import { cuts } from "../given.js";
import { pickRank } from "../pick.js";
import { labelRows, plane } from "../plane.js";
import { formatCount, formatTime } from "../pure/format.js";
import { ticks } from "../pure/scale.js";
import { latestCells } from "../pure/step_map.js";
import { moved, pieceAt, piecesWithin, stripPieces, stripReach, zoomed } from "../pure/strip.js";
import { selection } from "../selection.js";
import { table } from "../table.js";
import { tip } from "../tip.js";

const PIECES = [{ css: "own", text: "own work" }, { css: "wait", text: "waiting for the last rank" }, { css: "comm", text: "transfer" }, { css: "last", text: "came last" }];
const HEIGHT = 320;
// Nanoseconds that fill the width at least.
const CLOSEST = 1000;

export function drawStrip(doc) {
  const { body, bar } = section("strip");
  const { collectives, step_map: map } = doc;
  if (collectives.instances.length === 0) return body.append(h("p", { class: "empty" }, "No collective was found on all of its ranks, so there is nothing that puts the ranks beside each other in time."));
  const isPartial = collectives.instances.some((instance) => instance.members);
  const origin = map ? map.origin_ns : Math.min(...collectives.instances.map((instance) => instance.start_ns));
  const said = "Collectives of one step on every rank, in time; plus and minus zoom, left and right move, up and down select a rank, the table below lists them";
  const view = { doc, map, isPartial, step: undefined, ranks: [], all: stripPieces(collectives, origin), pieces: [], whole: [0, 1], shown: [0, 1], width: 1000, fallback: null, field: plane({ tabindex: "0", "aria-label": said }) };
  if (map) view.fallback = stepToShow(map, view.all);
  const choice = map ? stepChoice(map) : null;
  const behind = h("div");
  bar.append(swatches(PIECES), h("span", { class: "spacer" }), ...(choice === null ? [] : [h("label", { class: "control" }, "Step", choice)]), ...zoomButtons(view));
  const cut = cuts.instances > 0 ? ` The page has the ${formatCount(collectives.instances.length)} of ${formatCount(cuts.instances)} listed collectives with the longest waits.` : "";
  const few = isPartial ? " Rows are the ranks that came first or last to one of these collectives." : "";
  body.append(lead(`Every rank on the job's clock. A row that comes late to a collective makes the others wait; drag to zoom.${cut}${few}`), view.field.element, behind);
  selection.watch(({ step }) => {
    const next = step ?? view.fallback;
    if (next !== view.step) {
      goTo(view, next);
      if (choice !== null) choice.value = String(next);
      behind.replaceChildren(...listOf(view));
    }
    paintStrip(view);
  });
  answerStrip(view);
  onRedraw(() => paintStrip(view));
}

// How many of the latest ranks are looked at for a step of which the page has collectives.
const LOOKED_AT = 40;

function stepToShow(map, pieces) {
  const isDrawn = (step) => piecesWithin(pieces, map.bounds_ns[map.steps.indexOf(step)]).length > 0;
  const shown = latestCells(map, LOOKED_AT).find(({ step }) => isDrawn(step))?.step;
  return shown ?? map.steps.find(isDrawn) ?? map.steps[0];
}

function stepChoice(map) {
  const choice = h("select", { onchange: () => selection.choose({ step: Number(choice.value) }) },
    ...map.steps.map((step) => h("option", { value: step }, String(step))));
  return choice;
}

function goTo(view, step) {
  const place = view.map && step !== null ? view.map.steps.indexOf(step) : -1;
  view.step = step;
  view.whole = place < 0 ? stripReach(view.all) : view.map.bounds_ns[place];
  view.pieces = piecesWithin(view.all, view.whole);
  // Of large collectives only the ranks that came first and last are listed: others have no row, rather than one that says nothing.
  const listed = view.isPartial ? new Set(view.pieces.map((piece) => piece.rank)) : null;
  view.ranks = view.doc.ranks.map((rank) => rank.rank).filter((rank) => listed === null || listed.has(rank));
  view.shown = view.whole;
}

const pitchOf = (view) => Math.max(0.5, Math.min(20, HEIGHT / Math.max(1, view.ranks.length)));

function paintStrip(view) {
  const { field, ranks, shown: [from, to] } = view;
  const [pitch, width] = [pitchOf(view), field.width()];
  view.width = width;
  const x = (at) => (at - from) / (to - from) * width;
  const pen = penOn(field.canvas, width, pitch * ranks.length);
  const row = new Map(ranks.map((rank, y) => [rank, y]));
  const thick = pitch - (pitch > 8 ? 2 : pitch > 2 ? 0.5 : 0);
  const [low, high] = [Math.max(0, x(view.whole[0])), Math.min(width, x(view.whole[1]))];
  pen.fillStyle = cssVariable("--own");
  ranks.forEach((_, y) => pen.fillRect(low, y * pitch, high - low, thick));
  paintBands(view, pen, x, [high, pitch * ranks.length]);
  const parts = [["--wait", "arrives", "starts"], ["--comm", "starts", "ends"]];
  for (const [colour, begin, end] of parts) {
    pen.fillStyle = cssVariable(colour);
    for (const piece of view.pieces) if (piece[end] >= from && piece[begin] <= to) pen.fillRect(x(piece[begin]), row.get(piece.rank) * pitch, Math.max(0.6, x(piece[end]) - x(piece[begin])), thick);
  }
  pen.fillStyle = cssVariable("--ink");
  for (const piece of view.pieces) if (piece.rank === piece.lastRank && piece.starts > piece.arrives - 1) pen.fillRect(x(piece.starts) - 1, row.get(piece.rank) * pitch, 2, thick);
  frameRow(view, pen, pitch);
  labelRows(field.rows, ranks, pitch, "rank");
  labelTimes(field.under, view, x);
}

// The transfer of a collective of all ranks, on those too that are not listed.
function paintBands({ isPartial, pieces, doc }, pen, x, [width, height]) {
  if (!isPartial) return;
  pen.fillStyle = cssVariable("--comm");
  pen.globalAlpha = 0.3;
  for (const piece of pieces) {
    if (piece.rank !== piece.lastRank || piece.instance.members !== doc.ranks.length) continue;
    const from = Math.max(0, x(piece.starts));
    pen.fillRect(from, 0, Math.max(0, Math.min(width, x(piece.ends)) - from), height);
  }
  pen.globalAlpha = 1;
}

function frameRow(view, pen, pitch) {
  const y = view.ranks.indexOf(selection.get().rank);
  if (y < 0) return;
  pen.strokeStyle = cssVariable("--ink");
  pen.lineWidth = 1.5;
  pen.strokeRect(0.75, Math.max(0.75, sharp(y * pitch) - 1), view.width - 1.5, Math.max(pitch, 3));
}

// Distances from the begin of the step.
function labelTimes(under, { whole: [begin], shown: [from, to] }, x) {
  under.replaceChildren(...ticks(from - begin, to - begin).filter((at) => x(at + begin) < x(to) - 20).map((at) => h("span", { style: { left: `${x(at + begin)}px` } }, at === 0 ? "0" : `+${formatTime(at)}`)));
}

function describePiece(view, rank, at) {
  const piece = pieceAt(view.pieces, rank, at);
  if (piece === null) return [`Rank ${rank}: outside of matched collectives`];
  const { instance, name, lastRank, arrives, starts } = piece;
  const waits = rank === lastRank ? [["Came last", `longest wait ${formatTime(Math.max(...instance.wait_ns))}`]] : [["Waits", `${formatTime(starts - arrives)} for rank ${lastRank}`]];
  return tip.rows(`${name}, rank ${rank}`, [...waits, ["Transfer", formatTime(instance.transfer_ns)]]);
}

function zoomButtons(view) {
  const by = (factor) => () => zoom(view, factor, (view.shown[0] + view.shown[1]) / 2);
  const button = (text, title, press, label = title) => h("button", { type: "button", class: "plain small", title, "aria-label": label, onclick: press }, text);
  return [button("+", "Zoom in", by(0.5)), button("−", "Zoom out", by(2)), button("All", "Show the whole step", () => zoom(view, Infinity, view.shown[0]), "All of the step")];
}

function zoom(view, factor, at) {
  view.shown = Number.isFinite(factor) ? zoomed(view.shown, view.whole, factor, at, CLOSEST) : view.whole;
  paintStrip(view);
}

// Keys of the strip: what they do to it.
const STRIP_KEYS = {
  "+": (view) => zoom(view, 0.5, (view.shown[0] + view.shown[1]) / 2),
  "=": (view) => zoom(view, 0.5, (view.shown[0] + view.shown[1]) / 2),
  "-": (view) => zoom(view, 2, (view.shown[0] + view.shown[1]) / 2),
  0: (view) => zoom(view, Infinity, 0),
  ArrowLeft: (view) => shift(view, -0.2),
  ArrowRight: (view) => shift(view, 0.2),
  ArrowUp: (view) => nextRank(view, -1),
  ArrowDown: (view) => nextRank(view, 1),
};

function shift(view, share) {
  view.shown = moved(view.shown, view.whole, (view.shown[1] - view.shown[0]) * share);
  paintStrip(view);
}

function nextRank({ ranks }, by) {
  const at = ranks.indexOf(selection.get().rank);
  selection.choose({ rank: ranks[at < 0 ? 0 : Math.min(ranks.length - 1, Math.max(0, at + by))] });
}

// A drag zooms, a click selects a rank, and every place says what it is.
function answerStrip(view) {
  const { canvas } = view.field;
  const timeAt = (px) => view.shown[0] + px / view.width * (view.shown[1] - view.shown[0]);
  const rankAt = (py) => view.ranks[Math.floor(py / pitchOf(view))];
  const drag = { from: null };
  tip.over(canvas, (px, py) => (rankAt(py) === undefined ? null : describePiece(view, rankAt(py), timeAt(px))));
  canvas.addEventListener("pointerdown", (event) => { drag.from = event.offsetX; });
  canvas.addEventListener("pointerup", (event) => {
    if (drag.from === null) return;
    const [a, b] = [drag.from, event.offsetX].sort((one, other) => one - other);
    drag.from = null;
    if (b - a < 5) return selection.choose({ rank: rankAt(event.offsetY) ?? null });
    /** @type {[number, number]} */
    const stretch = [timeAt(a), timeAt(b)];
    view.shown = stretch[1] - stretch[0] < CLOSEST ? view.shown : moved(stretch, view.whole, 0);
    paintStrip(view);
  });
  canvas.addEventListener("dblclick", () => zoom(view, Infinity, 0));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(view, event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(STRIP_KEYS, event.key)) return;
    event.preventDefault();
    STRIP_KEYS[event.key](view);
    if (event.key.startsWith("Arrow")) tip.hide();
  });
}

// The same in words, and as a table.
function listOf({ pieces, step }) {
  const rows = pieces.filter((piece) => piece.rank === piece.lastRank);
  if (rows.length === 0) return [note("No matched collective of this step is in the page.")];
  const wait = ({ instance }) => Math.max(0, ...instance.wait_ns);
  const longest = rows.reduce((one, other) => (wait(other) > wait(one) ? other : one));
  const where = step === null ? "" : ` of step ${step}`;
  return [
    note(`Longest wait${where}: ${formatTime(wait(longest))} for rank ${longest.lastRank}, ${longest.name.slice(0, 60)}.`),
    h("details", {}, h("summary", {}, "Collectives, as a table"), table({
      label: "Collectives in time",
      rows,
      limit: 16,
      columns: [
        { head: "Collective", text: true, class: "name", key: (one) => one.name, cell: (one) => h("span", { class: "clamp", title: one.name }, one.name) },
        { head: "Came last", first: "ascending", key: (one) => one.lastRank, cell: (one) => pickRank(one.lastRank) },
        { head: "Longest wait", key: wait, cell: (one) => formatTime(wait(one)) },
        { head: "Transfer", key: (one) => one.instance.transfer_ns, cell: (one) => formatTime(one.instance.transfer_ns) },
        { head: "End skew", key: (one) => one.instance.end_skew_ns, cell: (one) => formatTime(one.instance.end_skew_ns) },
      ],
      sort: [-1, "descending"],
    })),
  ];
}
