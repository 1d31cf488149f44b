// The pair matrix as a heat map: senders down, receivers across.
import { cssVariable, onRedraw, penOn, theme } from "../canvas.js";
import { empty, h, lead, section } from "../dom.js";
import { labelColumns, labelRamp, labelRows, plane } from "../plane.js";
import { binName, trafficBins } from "../pure/bins.js";
import { formatBytes } from "../pure/format.js";
import { RAMPS, rampColour, rampGradient } from "../pure/ramp.js";
import { BINARY, labelEvery } from "../pure/scale.js";
import { selection } from "../selection.js";
import { tip } from "../tip.js";

export function drawTraffic(plan) {
  const { body, bar } = section("traffic");
  if (plan.pairs.length === 0) return body.append(empty("Nothing leaves its rank."));
  const bins = trafficBins(plan.ranks.length, plan.pairs);
  const field = plane({ "aria-label": "Bytes from every rank to every other" }, "receiver");
  const ramp = h("span", { class: "ramp" });
  const shared = bins.per > 1 ? ` Each cell covers ${bins.per} by ${bins.per} ranks.` : "";
  bar.append(h("span", { class: "spacer" }), ramp);
  body.append(lead(`Bytes of one ${plan.pass || "forward"} pass of one layer. A dark row is a rank that sends a lot, a dark column one that receives a lot; click a row to select its rank.${shared}`), field.element);
  let pitch = 1;
  const draw = () => {
    pitch = cellPitch(field, bins);
    paintTraffic(bins, field, pitch);
    frameCells(field, pitch * bins.count, pitch, plan.ranks.findIndex(({ rank }) => rank === selection.get().rank), bins.per);
    labelRamp(ramp, "0", rampGradient(RAMPS[theme()]), formatBytes(bins.most));
  };
  tip.over(field.canvas, (px, py) => {
    const [to, from] = [px, py].map((at) => Math.floor(at / pitch));
    return from < bins.count && to < bins.count ? describePair(bins, from, to) : null;
  });
  field.canvas.addEventListener("click", (event) => {
    const sender = plan.ranks[Math.floor(event.offsetY / pitch) * bins.per];
    if (sender) selection.choose({ rank: sender.rank });
  });
  selection.watch(draw);
  onRedraw(draw);
}

const cellPitch = (field, bins) => Math.max(1, Math.min(34, Math.floor(Math.min(640, field.width()) / bins.count)));

function paintTraffic(bins, { canvas, rows, under }, pitch) {
  const side = pitch * bins.count;
  const pen = penOn(canvas, side, side);
  const gap = pitch > 6 ? 1 : 0;
  pen.fillStyle = cssVariable("--raised");
  pen.fillRect(0, 0, side, side);
  bins.bytes.forEach((sent, at) => {
    if (sent === 0) return;
    pen.fillStyle = rampColour(RAMPS[theme()], 0.15 + 0.85 * sent / bins.most);
    pen.fillRect((at % bins.count) * pitch, Math.floor(at / bins.count) * pitch, pitch - gap, pitch - gap);
  });
  const firsts = Array.from({ length: bins.count }, (_, i) => i * bins.per);
  const every = labelEvery(bins.count, pitch, 26, BINARY);
  labelRows(rows, firsts, pitch, "sender", every);
  labelColumns(under, firsts, pitch, every);
}

// A frame around what the selected rank sends, and what it receives.
function frameCells({ canvas }, side, pitch, at, per) {
  if (at < 0) return;
  const pen = canvas.getContext("2d");
  pen.strokeStyle = cssVariable("--ink");
  pen.lineWidth = 1.5;
  const from = Math.floor(at / per) * pitch;
  pen.strokeRect(0.75, Math.max(0.75, from - 0.5), side - 1.5, Math.max(2, pitch));
  pen.strokeRect(Math.max(0.75, from - 0.5), 0.75, Math.max(2, pitch), side - 1.5);
}

function describePair(bins, from, to) {
  return tip.rows(`${binName(bins, from)} to ${binName(bins, to)}`, [["bytes", formatBytes(bins.bytes[from * bins.count + to])]]);
}
