// The pair matrix as a heat map: senders down, receivers across. Ranks share cells where there are more of them than pixels.

const CELLS_MOST = 256;

function drawTraffic(plan) {
  const { body, bar } = section("traffic");
  if (plan.pairs.length === 0) return body.append(empty("Nothing leaves its rank."));
  const bins = binned(plan);
  const canvas = h("canvas", { role: "img", "aria-label": "Bytes from every rank to every other" });
  const ramp = h("span", { class: "ramp" });
  bar.append(h("span", { class: "spacer" }), ramp);
  const shared = bins.per > 1 ? ` Each cell covers ${bins.per} by ${bins.per} ranks.` : "";
  body.append(lead(`Bytes of one forward pass of one layer. A dark row is a rank that sends a lot, a dark column one that receives a lot.${shared}`));
  const rows = h("div", { class: "labels", "aria-hidden": "true" });
  const under = h("div", { class: "under", "aria-hidden": "true" });
  body.append(h("div", { class: "canvas-box" }, h("div", { class: "plane" }, rows, h("div", {}, canvas), under, h("div", { class: "axis-title" }, "receiver"))));
  const draw = () => paintTraffic(bins, canvas, ramp, rows, under);
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = [event.offsetX, event.offsetY].map((at) => Math.floor(at / bins.size));
    if (x < bins.count && y < bins.count) tip.show(describePair(bins, y, x), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => tip.hide());
  draw();
  darkQuery.addEventListener("change", draw);
  onResize(draw);
}

function binned(plan) {
  const world = plan.ranks.length;
  const per = Math.ceil(world / CELLS_MOST);
  const count = Math.ceil(world / per);
  const bytes = new Float64Array(count * count);
  for (const [from, to, sent] of plan.pairs) bytes[Math.floor(from / per) * count + Math.floor(to / per)] += sent;
  return { world, per, count, bytes, most: extent(bytes)[1], size: 1 };
}

function paintTraffic(bins, canvas, ramp, rows, under) {
  const room = Math.min(640, Math.max(240, (canvas.closest("section").clientWidth || 900) - 90));
  bins.size = Math.max(1, Math.min(34, Math.floor(room / bins.count)));
  const side = bins.size * bins.count;
  const pen = penOn(canvas, side, side);
  const colours = RAMPS[darkQuery.matches ? "dark" : "light"];
  const gap = bins.size > 6 ? 1 : 0;
  pen.fillStyle = colour("--raised");
  pen.fillRect(0, 0, side, side);
  bins.bytes.forEach((sent, at) => {
    if (sent === 0) return;
    pen.fillStyle = `rgb(${rampColour(colours, 0.15 + 0.85 * sent / bins.most)})`;
    pen.fillRect((at % bins.count) * bins.size, Math.floor(at / bins.count) * bins.size, bins.size - gap, bins.size - gap);
  });
  ramp.replaceChildren("0", h("i", { style: { background: `linear-gradient(to right, ${colours.map((c) => `rgb(${c})`).join(", ")})` } }), formatBytes(bins.most));
  const every = [1, 2, 4, 8, 16, 32, 64, 128].find((n) => n * bins.size >= 26) ?? bins.count;
  const marks = [...Array(bins.count).keys()].filter((i) => i % every === 0);
  rows.replaceChildren(...marks.map((i) => h("span", { style: { top: `${(i + 0.5) * bins.size}px` } }, `${i === 0 ? "sender " : ""}${i * bins.per}`)));
  under.replaceChildren(...marks.map((i) => h("span", { style: { left: `${(i + 0.5) * bins.size}px` } }, String(i * bins.per))));
}

function describePair(bins, from, to) {
  const name = (i) => (bins.per === 1 ? `rank ${i}` : `ranks ${i * bins.per}–${Math.min(bins.world, (i + 1) * bins.per) - 1}`);
  return tip.rows(`${name(from)} to ${name(to)}`, [["bytes", formatBytes(bins.bytes[from * bins.count + to])]]);
}
