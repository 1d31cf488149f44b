// Work per rank before and after planning: columns after, a line before, the mean and what no rank may exceed.
import { cssVariable, onRedraw, penOn, sharp, strokeLine } from "../canvas.js";
import { h, lead, section, swatches } from "../dom.js";
import { NBSP, formatBytes, formatTimes, plural } from "../pure/format.js";
import { extent, labelEvery } from "../pure/scale.js";
import { selection } from "../selection.js";
import { tip } from "../tip.js";

const BOX = { height: 260, left: 58, right: 12, top: 14, bottom: 26 };

export function drawLoads(plan) {
  const { body, bar } = section("loads");
  const canvas = h("canvas", { role: "img", "aria-label": "Work per rank before and after planning, in shares of the mean" });
  bar.append(swatches([{ colour: "var(--accent)", text: "after" }, { colour: "var(--comm)", text: "before" }], `dashed: the mean${plan.most_work ? " and the most a rank may have" : ""}`));
  body.append(lead("Attention that every rank computes, as a multiple of the mean. The heaviest rank decides when the others can continue."), h("div", {}, canvas));
  const draw = () => paintLoads(plan, canvas);
  tip.over(canvas, (x) => {
    const rank = rankAt(plan, canvas, x);
    return rank && tip.rows(`Rank ${rank.rank}`, loadRows(plan, rank));
  });
  canvas.addEventListener("click", (event) => selection.choose({ rank: rankAt(plan, canvas, event.offsetX)?.rank ?? null }));
  selection.watch(draw);
  onRedraw(draw);
}

export const shareOfMean = (plan, work) => (plan.mean_work > 0 ? work / plan.mean_work : 0);

export const loadRows = (plan, rank) => [
  ["before", `${formatTimes(shareOfMean(plan, rank.work_before))} the mean`],
  ["after", `${formatTimes(shareOfMean(plan, rank.work_after))} the mean`],
  ["holds", plural(rank.tokens, "token")],
  ["sends", formatBytes(rank.sent_bytes)],
  ["receives", formatBytes(rank.received_bytes)],
];

function rankAt(plan, canvas, x) {
  const width = canvas.clientWidth - BOX.left - BOX.right;
  return plan.ranks[Math.floor((x - BOX.left) / width * plan.ranks.length)];
}

function paintLoads(plan, canvas) {
  const width = Math.max(320, canvas.parentElement.clientWidth);
  const [before, after] = ["work_before", "work_after"].map((key) => plan.ranks.map((rank) => shareOfMean(plan, rank[key])));
  const top = 1.08 * Math.max(1, extent([...after, ...before])[1]);
  const pitch = (width - BOX.left - BOX.right) / plan.ranks.length;
  const y = (v) => BOX.top + (1 - v / top) * (BOX.height - BOX.top - BOX.bottom);
  const x = (i) => BOX.left + i * pitch;
  const picture = { pen: penOn(canvas, width, BOX.height), width, x, y, pitch };
  paintMultiples(picture, top);
  paintAfter(picture, after);
  paintBefore(picture, before);
  paintLimit(picture, 1, [6, 4]);
  if (plan.most_work) paintLimit(picture, shareOfMean(plan, plan.most_work), [2, 3]);
  frameColumn(picture, plan.ranks.findIndex(({ rank }) => rank === selection.get().rank));
  nameRanks(picture, plan.ranks);
}

function frameColumn({ pen, x, y, pitch }, at) {
  if (at < 0) return;
  pen.strokeStyle = cssVariable("--ink");
  pen.lineWidth = 1.5;
  pen.strokeRect(x(at) + 0.5, BOX.top, Math.max(2, pitch - 1), y(0) - BOX.top);
}

function paintMultiples({ pen, width, y }, top) {
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  const unit = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100].find((n) => top / n <= 8) ?? top;
  for (let v = 0; v <= top; v += unit) {
    pen.strokeStyle = cssVariable("--rule");
    strokeLine(pen, BOX.left, sharp(y(v)), width - BOX.right, sharp(y(v)));
    pen.fillStyle = cssVariable("--muted");
    pen.fillText(`${v}${NBSP}×`, BOX.left - 8, y(v));
  }
}

function paintAfter({ pen, x, y, pitch }, after) {
  const gap = pitch > 6 ? Math.min(4, pitch * 0.2) : 0;
  pen.fillStyle = cssVariable("--accent");
  after.forEach((v, i) => pen.fillRect(x(i) + gap / 2, y(v), Math.max(0.5, pitch - gap), y(0) - y(v)));
}

function paintBefore({ pen, x, y, pitch }, before) {
  pen.strokeStyle = cssVariable("--comm");
  pen.lineWidth = pitch > 4 ? 2 : 1;
  pen.beginPath();
  before.forEach((v, i) => {
    pen.lineTo(x(i), y(v));
    pen.lineTo(x(i + 1), y(v));
  });
  pen.stroke();
}

function paintLimit({ pen, width, y }, v, dash) {
  pen.strokeStyle = cssVariable("--ink");
  pen.setLineDash(dash);
  strokeLine(pen, BOX.left, sharp(y(v)), width - BOX.right, sharp(y(v)));
  pen.setLineDash([]);
}

function nameRanks({ pen, x, pitch }, ranks) {
  pen.fillStyle = cssVariable("--muted");
  pen.textAlign = "center";
  pen.textBaseline = "top";
  const every = labelEvery(ranks.length, pitch, 30);
  ranks.forEach(({ rank }, i) => i % every === 0 && pen.fillText(i === 0 ? `rank ${rank}` : String(rank), x(i + 0.5), BOX.height - BOX.bottom + 7));
}
