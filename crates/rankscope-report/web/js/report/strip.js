// One step on all ranks, in time: when each came to every collective, how long it waited there, and how long the transfer took.
import { onRedraw } from "../canvas.js";
import { h, lead, section, swatches } from "../dom.js";
import { cuts } from "../given.js";
import { plane } from "../plane.js";
import { formatCount } from "../pure/format.js";
import { latestCells } from "../pure/step_map.js";
import { piecesWithin, stripPieces, stripReach } from "../pure/strip.js";
import { selection } from "../selection.js";
import { listOf } from "../strip/list.js";
import { answerStrip, zoomButtons } from "../strip/moves.js";
import { STRIP_PARTS, paintStrip } from "../strip/paint.js";

export function drawStrip(doc) {
  const { body, bar } = section("strip");
  const { collectives, step_map: map } = doc;
  if (collectives.instances.length === 0) return body.append(h("p", { class: "empty" }, "No collective was found on all of its ranks, so there is nothing that puts the ranks beside each other in time."));
  const isPartial = collectives.instances.some((instance) => instance.members);
  const said = "Collectives of one step on every rank, in time; plus and minus zoom, left and right move, up and down select a rank, the table below lists them";
  const all = stripPieces(collectives, 0);
  const view = { doc, map, isPartial, members: doc.ranks.length, step: undefined, ranks: [], all, pieces: [], reach: [0, 1], time: { whole: [0, 1], shown: [0, 1] }, width: 1000, field: plane({ tabindex: "0", "aria-label": said }) };
  const fallback = map ? stepToShow(map, all) : null;
  const choice = map ? stepChoice(map) : null;
  const behind = h("div");
  bar.append(swatches(STRIP_PARTS), h("span", { class: "spacer" }), ...(choice === null ? [] : [h("label", { class: "control" }, "Step", choice)]), ...zoomButtons([view]));
  const cut = cuts.instances > 0 ? ` The page has the ${formatCount(collectives.instances.length)} of ${formatCount(cuts.instances)} listed collectives with the longest waits.` : "";
  const few = isPartial ? " Rows are the ranks that came first or last to one of these collectives." : "";
  body.append(lead(`Every rank on the job's clock. A row that comes late to a collective makes the others wait; drag to zoom.${cut}${few}`), view.field.element, behind);
  selection.watch(({ step }) => {
    const next = step ?? fallback;
    if (next !== view.step) {
      goTo(view, next);
      if (choice !== null) choice.value = String(next);
      behind.replaceChildren(...listOf(view, next === null ? "" : ` of step ${next}`, "Collectives in time"));
    }
    paintStrip(view);
  });
  answerStrip(view, [view]);
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
  view.reach = place < 0 ? stripReach(view.all) : view.map.bounds_ns[place];
  view.pieces = piecesWithin(view.all, view.reach);
  // Of large collectives only the ranks that came first and last are listed: others have no row, rather than one that says nothing.
  const listed = view.isPartial ? new Set(view.pieces.map((piece) => piece.rank)) : null;
  view.ranks = view.doc.ranks.map((rank) => rank.rank).filter((rank) => listed === null || listed.has(rank));
  view.time.whole = view.time.shown = view.reach;
}
