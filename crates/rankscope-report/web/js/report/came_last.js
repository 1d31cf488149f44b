// A dot where a rank came last, as large as the first arrival's wait: a row of large dots is a straggler, scattered ones are noise.
import { cssVariable, onRedraw, penOn } from "../canvas.js";
import { h, lead } from "../dom.js";
import { cuts } from "../given.js";
import { labelRows, plane } from "../plane.js";
import { arrivals, nearestDot } from "../pure/arrivals.js";
import { formatCount, formatTime, plural } from "../pure/format.js";
import { stepAt } from "../pure/step_map.js";
import { selection } from "../selection.js";
import { tip } from "../tip.js";

// Pixels from the rim of a dot at which it still answers.
const REACH = 14;

export function arrivalPlot(doc) {
  const { instances, groups } = doc.collectives;
  const seen = arrivals(doc.ranks, instances, groups);
  const field = plane({ "aria-label": "When each rank came last; the table above holds the totals" });
  const pitch = Math.max(2, Math.min(24, 640 / seen.rows.length));
  let place = placing(seen, pitch, 1000);
  const draw = () => {
    const width = field.width();
    place = placing(seen, pitch, width);
    paintArrivals(field, seen, pitch, width, place);
  };
  tip.over(field.canvas, (x, y) => {
    const dot = nearestDot(seen.dots, place, x, y, REACH);
    return dot && describeArrival(dot);
  });
  field.canvas.addEventListener("click", (event) => {
    const dot = nearestDot(seen.dots, place, event.offsetX, event.offsetY, REACH);
    if (dot) selection.choose({ rank: dot.last, step: stepAt(doc.step_map, dot.instance.start_ns) });
  });
  selection.watch(() => draw());
  onRedraw(draw);
  requestAnimationFrame(draw);
  return [lead(arrivalSentence(instances.length, seen.all)), field.element];
}

// From a dot to its centre and radius.
function placing({ duration, longest }, pitch, width) {
  const most = Math.max(2, Math.min(9, pitch * 0.48));
  return ({ at, row, wait }) => [most + at / Math.max(1, duration) * (width - 2 * most), (row + 0.5) * pitch, Math.max(1, most * Math.sqrt(wait / Math.max(1, longest)))];
}

function paintArrivals({ canvas, rows, under }, seen, pitch, width, place) {
  const pen = penOn(canvas, width, pitch * seen.rows.length);
  pen.fillStyle = cssVariable("--rule");
  if (pitch >= 8) seen.rows.forEach((_, y) => pen.fillRect(0, Math.round((y + 0.5) * pitch), width, 1));
  pen.fillStyle = cssVariable("--accent");
  pen.globalAlpha = 0.7;
  const { rank } = selection.get();
  for (const dot of seen.dots) {
    pen.fillStyle = cssVariable(dot.last === rank ? "--wait" : "--accent");
    pen.beginPath();
    pen.arc(...place(dot), 0, 2 * Math.PI);
    pen.fill();
  }
  labelRows(rows, seen.rows, pitch, "rank");
  under.replaceChildren(
    h("span", { style: { left: "0", transform: "none" } }, "first collective"),
    h("span", { style: { left: `${width}px`, transform: "translateX(-100%)" } }, `+${formatTime(seen.duration)}`));
}

function describeArrival({ instance, last, at, wait, name }) {
  return tip.rows(`${name}, last: rank ${last}`, [
    ["At", `+${formatTime(at)}`], ["Longest wait", `${formatTime(wait)} (rank ${instance.arrival_order[0]})`],
    ["Transfer", formatTime(instance.transfer_ns)], ["End skew", formatTime(instance.end_skew_ns)],
  ]);
}

function arrivalSentence(drawn, all) {
  const shown = cuts.instances > 0 ? `the ${formatCount(drawn)} with the longest waits, of ${formatCount(cuts.instances)} listed` : plural(drawn, "collective");
  return `One dot for each matched collective (${shown}), on the row of the rank that came last; its area grows with the longest wait.${all ? "" : " Ranks that never came last have no row."}`;
}
