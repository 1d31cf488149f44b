// What a reader does to strips: a drag zooms, a click selects a rank, and keys do both. Views of one time move together.
import { zoomControls } from "../controls.js";
import { moved, zoomed } from "../pure/strip.js";
import { selection } from "../selection.js";
import { tip } from "../tip.js";
import { describePiece, paintStrip, pitchOf } from "./paint.js";

// Nanoseconds that fill the width at least.
const CLOSEST = 1000;

export const paintStrips = (views) => views.forEach(paintStrip);

// Buttons for `views`, which share their time.
export function zoomButtons(views) {
  const { time } = views[0];
  return zoomControls((factor) => zoom(views, factor, (time.shown[0] + time.shown[1]) / 2), "the whole step");
}

function zoom(views, factor, at) {
  const { time } = views[0];
  time.shown = Number.isFinite(factor) ? zoomed(time.shown, time.whole, factor, at, CLOSEST) : time.whole;
  paintStrips(views);
}

function shift(views, share) {
  const { time } = views[0];
  time.shown = moved(time.shown, time.whole, (time.shown[1] - time.shown[0]) * share);
  paintStrips(views);
}

const middleOfStrips = ([{ time: { shown: [from, to] } }]) => (from + to) / 2;

// Keys of a strip: what they do to it and to those beside it.
const STRIP_KEYS = {
  "+": (views) => zoom(views, 0.5, middleOfStrips(views)),
  "=": (views) => zoom(views, 0.5, middleOfStrips(views)),
  "-": (views) => zoom(views, 2, middleOfStrips(views)),
  0: (views) => zoom(views, Infinity, 0),
  ArrowLeft: (views) => shift(views, -0.2),
  ArrowRight: (views) => shift(views, 0.2),
  ArrowUp: (_, view) => nextRank(view, -1),
  ArrowDown: (_, view) => nextRank(view, 1),
};

function nextRank({ ranks }, by) {
  const at = ranks.indexOf(selection.get().rank);
  selection.choose({ rank: ranks[at < 0 ? 0 : Math.min(ranks.length - 1, Math.max(0, at + by))] ?? null });
}

// Every place of `view` says what it is; what is done to it is done to all `views`.
export function answerStrip(view, views) {
  const { time, field: { canvas } } = view;
  const timeAt = (px) => time.shown[0] + px / view.width * (time.shown[1] - time.shown[0]);
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
    time.shown = stretch[1] - stretch[0] < CLOSEST ? time.shown : moved(stretch, time.whole, 0);
    paintStrips(views);
  });
  canvas.addEventListener("dblclick", () => zoom(views, Infinity, 0));
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(views, event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(STRIP_KEYS, event.key)) return;
    event.preventDefault();
    STRIP_KEYS[event.key](views, view);
    if (event.key.startsWith("Arrow")) tip.hide();
  });
}
