// Work per rank before and after planning: columns after, a line before, the mean and what no rank may exceed.

const LOADS = { height: 260, left: 58, right: 12, top: 14, bottom: 26 };

function drawLoads(plan) {
  const { body, bar } = section("loads");
  const canvas = h("canvas", { role: "img", "aria-label": "Work per rank before and after planning, in shares of the mean" });
  bar.append(h("ul", { class: "legend" },
    h("li", {}, h("span", { class: "swatch", style: { background: "var(--accent)" } }), "after"),
    h("li", {}, h("span", { class: "swatch", style: { background: "var(--comm)" } }), "before"),
    h("li", {}, "dashed: the mean", plan.most_work ? " and the most a rank may have" : "")));
  body.append(lead("Attention that every rank computes, as a multiple of the mean. The heaviest rank decides when the others can continue."), h("div", {}, canvas));
  const draw = () => paintLoads(plan, canvas);
  canvas.addEventListener("pointermove", (event) => {
    const rank = rankAt(plan, canvas, event.offsetX);
    if (rank) tip.show(tip.rows(`Rank ${rank.rank}`, rankRows(plan, rank)), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => tip.hide());
  draw();
  darkQuery.addEventListener("change", draw);
  onResize(draw);
}

const share = (plan, work) => (plan.mean_work > 0 ? work / plan.mean_work : 0);
const times = (x) => `${x.toFixed(3)}${NBSP}×`;

const rankRows = (plan, rank) => [
  ["before", `${times(share(plan, rank.work_before))} the mean`],
  ["after", `${times(share(plan, rank.work_after))} the mean`],
  ["holds", plural(rank.tokens, "token")],
  ["sends", formatBytes(rank.sent_bytes)],
  ["receives", formatBytes(rank.received_bytes)],
];

function rankAt(plan, canvas, x) {
  const width = canvas.clientWidth - LOADS.left - LOADS.right;
  return plan.ranks[Math.floor((x - LOADS.left) / width * plan.ranks.length)];
}

function paintLoads(plan, canvas) {
  const width = Math.max(320, canvas.parentElement.clientWidth);
  const pen = penOn(canvas, width, LOADS.height);
  const after = plan.ranks.map((rank) => share(plan, rank.work_after));
  const before = plan.ranks.map((rank) => share(plan, rank.work_before));
  const top = 1.08 * Math.max(1, extent([...after, ...before])[1]);
  const step = (width - LOADS.left - LOADS.right) / plan.ranks.length;
  const y = (v) => LOADS.top + (1 - v / top) * (LOADS.height - LOADS.top - LOADS.bottom);
  const x = (i) => LOADS.left + i * step;
  grid(pen, width, top, y);
  const gap = step > 6 ? Math.min(4, step * 0.2) : 0;
  pen.fillStyle = colour("--accent");
  after.forEach((v, i) => pen.fillRect(x(i) + gap / 2, y(v), Math.max(0.5, step - gap), y(0) - y(v)));
  pen.strokeStyle = colour("--comm");
  pen.lineWidth = step > 4 ? 2 : 1;
  pen.beginPath();
  before.forEach((v, i) => { pen.lineTo(x(i), y(v)); pen.lineTo(x(i + 1), y(v)); });
  pen.stroke();
  level(pen, width, y(1), "mean");
  if (plan.most_work) level(pen, width, y(share(plan, plan.most_work)), "most");
  pen.fillStyle = colour("--muted");
  pen.textAlign = "center";
  pen.textBaseline = "top";
  const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => n * step >= 30) ?? plan.ranks.length;
  plan.ranks.forEach((rank, i) => i % every === 0 && pen.fillText(i === 0 ? `rank ${rank.rank}` : String(rank.rank), x(i + 0.5), LOADS.height - LOADS.bottom + 7));
}

function grid(pen, width, top, y) {
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  const unit = [0.25, 0.5, 1, 2, 5, 10, 20, 50, 100].find((n) => top / n <= 8) ?? top;
  for (let v = 0; v <= top; v += unit) {
    pen.strokeStyle = colour("--rule");
    pen.beginPath();
    pen.moveTo(LOADS.left, Math.round(y(v)) + 0.5);
    pen.lineTo(width - LOADS.right, Math.round(y(v)) + 0.5);
    pen.stroke();
    pen.fillStyle = colour("--muted");
    pen.fillText(`${v}${NBSP}×`, LOADS.left - 8, y(v));
  }
}

function level(pen, width, at, name) {
  pen.strokeStyle = colour("--ink");
  pen.setLineDash(name === "mean" ? [6, 4] : [2, 3]);
  pen.beginPath();
  pen.moveTo(LOADS.left, Math.round(at) + 0.5);
  pen.lineTo(width - LOADS.right, Math.round(at) + 0.5);
  pen.stroke();
  pen.setLineDash([]);
}
