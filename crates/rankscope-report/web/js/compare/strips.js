// The same step of base and test, in time, under each other: where each side waits, and for whom.
import { onRedraw } from "../canvas.js";
import { empty, h, lead, note, swatches } from "../dom.js";
import { plane } from "../plane.js";
import { formatTime, plural } from "../pure/format.js";
import { stripPieces } from "../pure/strip.js";
import { selection } from "../selection.js";
import { listOf } from "../strip/list.js";
import { answerStrip, paintStrips, zoomButtons } from "../strip/moves.js";
import { STRIP_PARTS } from "../strip/paint.js";

const HEIGHT_OF_SIDE = 220;

export const stepsOf = ({ strips }) => (strips ? strips.sides[0].steps.map((one) => one.step) : []);

// Of base and test, the step that is called so.
export const sidesOf = ({ strips }, at, step) => [0, at + 1].map((side) => strips?.sides[side]?.steps.find((one) => one.step === step) ?? null);

export function drawStrips({ doc, at }, body, bar) {
  const { strips } = doc;
  if (!strips) return body.append(empty("The sides have no step of the same number with collectives in it, so there is nothing to put under each other."));
  const time = { whole: [0, 1], shown: [0, 1] };
  const views = [0, at + 1].map((side) => sideView(strips.sides[side], time));
  const choice = h("select", { onchange: () => selection.choose({ step: Number(choice.value) }) }, ...stepsOf(doc).map((step) => h("option", { value: step }, String(step))));
  const shown = { step: undefined };
  bar.append(swatches(STRIP_PARTS), h("span", { class: "spacer" }), h("label", { class: "control" }, "Step", choice), ...zoomButtons(views));
  body.append(
    lead("Both sides from the begin of the step on one scale of time; every rank on the clock of its run. Where a bar ends, the step ends. Drag to zoom both, click to select a rank."),
    ...views.flatMap((view) => [view.heading, view.field.element, view.behind]));
  const follow = ({ step }) => {
    // Another test may be shown by now.
    if (!choice.isConnected) return;
    const next = stepsOf(doc).includes(step) ? step : strips.typical;
    if (next !== shown.step) {
      shown.step = next;
      choice.value = String(next);
      showStep(views, next);
    }
    paintStrips(views);
  };
  selection.watch(follow);
  for (const view of views) answerStrip(view, views);
  onRedraw(() => choice.isConnected && paintStrips(views));
}

function sideView(side, time) {
  const said = `Collectives of one step of ${side.label} on every rank, in time; plus and minus zoom, left and right move, up and down select a rank, the table below lists them`;
  return { side, time, pieces: [], ranks: side.ranks, members: side.ranks.length, isPartial: false, reach: [0, 1], width: 1000, height: HEIGHT_OF_SIDE, heading: h("h3", {}), behind: h("div"), field: plane({ tabindex: "0", "aria-label": said }) };
}

function showStep(views, step) {
  const [base, test] = views.map((view) => view.side.steps.find((one) => one.step === step));
  views.forEach((view, at) => {
    const { side } = view;
    const shown = at === 0 ? base : test;
    const groups = side.names.map((name) => ({ name }));
    view.isPartial = shown.instances.some((instance) => instance.members);
    view.reach = [0, shown.length_ns];
    view.pieces = stripPieces({ instances: shown.instances, groups }, shown.start_ns);
    const listed = view.isPartial ? new Set(view.pieces.map((piece) => piece.rank)) : null;
    view.ranks = side.ranks.filter((rank) => listed === null || listed.has(rank));
    view.heading.replaceChildren(h("span", { class: `swatch ${at === 0 ? "of-base" : "of-test"}` }), `${side.label}, step ${step}: ${formatTime(shown.length_ns)}`);
    const cut = side.left_out > 0 ? [note(`Of ${side.label}, ${plural(side.left_out, "collective")} with shorter waits ${side.left_out === 1 ? "is" : "are"} not listed.`)] : [];
    view.behind.replaceChildren(...listOf(view, ` of ${side.label} in step ${step}`, `Collectives of ${side.label}`), ...cut);
  });
  views[0].time.whole = views[0].time.shown = [0, Math.max(base.length_ns, test.length_ns)];
}

// Of a step, for the bar at the foot: both lengths.
export function stepWords(doc, at, step) {
  const [base, test] = sidesOf(doc, at, step);
  return base && test ? [`base ${formatTime(base.length_ns)}, test ${formatTime(test.length_ns)}`] : [];
}
