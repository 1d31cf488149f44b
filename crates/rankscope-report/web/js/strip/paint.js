// Ranks of one step in time, painted: own work, waiting, transfer, and who came last.
//
// A view is { field, ranks, members, isPartial, pieces, reach, width, time }: the ranks that have rows, how many there are in all, whether large
// collectives list some of their ranks only, the collectives as pieces, from when to when the step lasted, and the stretch of time that is
// shown, { whole, shown }. Views under each other share their `time`.
import { cssVariable, penOn, sharp } from "../canvas.js";
import { h } from "../dom.js";
import { labelRows } from "../plane.js";
import { formatTime } from "../pure/format.js";
import { ticks } from "../pure/scale.js";
import { pieceAt } from "../pure/strip.js";
import { selection } from "../selection.js";
import { tip } from "../tip.js";

export const STRIP_PARTS = [{ css: "own", text: "own work" }, { css: "wait", text: "waiting for the last rank" }, { css: "comm", text: "transfer" }, { css: "last", text: "came last" }];
const STRIP_HEIGHT = 320;

// Pixels from a row to the next.
export const pitchOf = (view) => Math.max(0.5, Math.min(20, (view.height ?? STRIP_HEIGHT) / Math.max(1, view.ranks.length)));

export function paintStrip(view) {
  const { field, ranks, reach, time: { shown: [from, to] } } = view;
  const [pitch, width] = [pitchOf(view), field.width()];
  view.width = width;
  const x = (at) => (at - from) / (to - from) * width;
  const pen = penOn(field.canvas, width, pitch * Math.max(1, ranks.length));
  const row = new Map(ranks.map((rank, y) => [rank, y]));
  const thick = pitch - (pitch > 8 ? 2 : pitch > 2 ? 0.5 : 0);
  const [low, high] = [Math.max(0, x(reach[0])), Math.min(width, x(reach[1]))];
  pen.fillStyle = cssVariable("--own");
  ranks.forEach((_, y) => pen.fillRect(low, y * pitch, Math.max(0, high - low), thick));
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
function paintBands({ isPartial, pieces, members }, pen, x, [width, height]) {
  if (!isPartial) return;
  pen.fillStyle = cssVariable("--comm");
  pen.globalAlpha = 0.3;
  for (const piece of pieces) {
    if (piece.rank !== piece.lastRank || piece.instance.members !== members) continue;
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
function labelTimes(under, { time: { whole: [begin], shown: [from, to] } }, x) {
  under.replaceChildren(...ticks(from - begin, to - begin).filter((at) => x(at + begin) < x(to) - 20).map((at) => h("span", { style: { left: `${x(at + begin)}px` } }, at === 0 ? "0" : `+${formatTime(at)}`)));
}

// What a rank does at a time, for the tooltip.
export function describePiece(view, rank, at) {
  const piece = pieceAt(view.pieces, rank, at);
  if (piece === null) return [`Rank ${rank}: outside of matched collectives`];
  const { instance, name, lastRank, arrives, starts } = piece;
  const waits = rank === lastRank ? [["Came last", `longest wait ${formatTime(Math.max(...instance.wait_ns))}`]] : [["Waits", `${formatTime(starts - arrives)} for rank ${lastRank}`]];
  return tip.rows(`${name}, rank ${rank}`, [...waits, ["Transfer", formatTime(instance.transfer_ns)]]);
}
