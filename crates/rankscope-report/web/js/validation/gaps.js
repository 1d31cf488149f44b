// Gaps over time: by how much rules are missed, and when. The rows behind the dots are those of "What was found".
import { cssVariable, onRedraw, penOn, sharp, strokeLine } from "../canvas.js";
import { empty, lead, section, swatches } from "../dom.js";
import { plane } from "../plane.js";
import { formatTime } from "../pure/format.js";
import { concerns, gapPlaces, gapsOf, nearestPoint } from "../pure/gaps.js";
import { ticks } from "../pure/scale.js";
import { selection } from "../selection.js";
import { tip } from "../tip.js";
import { ruleName } from "./rules.js";

const MARGIN = { left: 70, right: 14, top: 12, bottom: 30 };
const HEIGHT = 240;
const COLOURS = { violation: "--wait", loss: "--comm", warning: "--muted" };
const CLASSES = { violation: "wait", loss: "comm", warning: "idle" };

export function drawGaps({ findings }) {
  const { body } = section("gaps");
  const gaps = gapsOf(findings);
  if (gaps.length === 0) return body.append(empty("Nothing that was found has both a time and a size, so there is nothing to draw."));
  const most = gaps.reduce((best, one) => (one.gap_ns > best.gap_ns ? one : best));
  const said = `The largest: ${formatTime(most.gap_ns)}, ${ruleName(most.rule)} on rank ${most.rank}, at +${formatTime(most.at_ns)}.`;
  const { element, canvas, width } = plane({ "aria-label": `Gaps over time. ${said} What was found, above, has every dot as a row.` });
  const weights = [...new Set(gaps.map((one) => one.weight))];
  body.append(lead(`By how much a rule is missed, and when: a dot for each thing found that has a time and a size. ${said}`), element,
    swatches(weights.map((weight) => ({ css: CLASSES[weight] ?? "idle", text: weight })), "What concerns a selected rank stands out. A click selects the rank of the nearest dot."));
  let places = null;
  const draw = () => { places = paintGaps(canvas, gaps, width(), selection.get().rank ?? null); };
  const at = (x, y) => gaps[nearestPoint(places.points, x - MARGIN.left, y - MARGIN.top)];
  tip.over(canvas, (x, y) => {
    const one = at(x, y);
    return tip.rows(ruleName(one.rule), [["Rank", String(one.rank)], ["Missed by", formatTime(one.gap_ns)], ["At", `+${formatTime(one.at_ns)}`], ["Event", one.op.slice(0, 80)]]);
  });
  canvas.addEventListener("click", (event) => selection.choose({ rank: at(event.offsetX, event.offsetY).rank }));
  selection.watch(draw);
  onRedraw(draw);
}

function paintGaps(canvas, gaps, width, rank) {
  const pen = penOn(canvas, width, HEIGHT);
  const [across, down] = [width - MARGIN.left - MARGIN.right, HEIGHT - MARGIN.top - MARGIN.bottom];
  const places = gapPlaces(gaps, across, down);
  pen.translate(MARGIN.left, MARGIN.top);
  paintAxes(pen, places, across, down);
  const dots = gaps.map((one, i) => ({ one, i, isMeant: rank === null || concerns(one, rank) }));
  // What is meant lies over the rest.
  for (const { one, i, isMeant } of dots.sort((a, b) => Number(a.isMeant) - Number(b.isMeant))) {
    pen.fillStyle = cssVariable(COLOURS[one.weight] ?? "--muted");
    pen.globalAlpha = isMeant ? 0.85 : 0.15;
    pen.beginPath();
    pen.arc(...places.points[i], 3.5, 0, 2 * Math.PI);
    pen.fill();
  }
  return places;
}

function paintAxes(pen, { times, marks, x, y }, across, down) {
  pen.strokeStyle = cssVariable("--rule");
  pen.fillStyle = cssVariable("--muted");
  [pen.textAlign, pen.textBaseline] = ["right", "middle"];
  const every = Math.ceil(marks.length / 8);
  for (const mark of marks.filter((_, i) => i % every === 0)) {
    strokeLine(pen, 0, sharp(y(mark)), across, sharp(y(mark)));
    pen.fillText(formatTime(mark), -8, y(mark));
  }
  [pen.textAlign, pen.textBaseline] = ["center", "top"];
  for (const at of across < 500 ? [] : ticks(...times)) pen.fillText(`+${formatTime(at)}`, Math.min(Math.max(x(at), 24), across - 24), down + 8);
}
