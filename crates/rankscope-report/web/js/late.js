// Who is late: who came last at matched collectives, what the others waited, and when it happened.

function drawLate(doc) {
  const { body } = section("late");
  const { collectives } = doc;
  const found = collectives.matched + collectives.unmatched;
  if (doc.ranks.length < 2) return body.append(empty("One rank alone cannot show who is late. Give the traces of the other ranks, too."));
  if (doc.verdict.reason === "not_comparable") return body.append(empty("The traces contradict each other (see above), so ranks are not compared."));
  if (found === 0) return body.append(empty("There are no collectives in these traces, so they do not show which rank the others wait for."));
  if (collectives.matched === 0) return body.append(empty(`No collective was found on all of its ranks (matched 0 of ${formatCount(found)}), so arrivals cannot be compared.`));
  if (collectives.ranks.every((rank) => rank.matched === 0)) return body.append(empty("Only messages between two ranks were matched. A rank that is late with one may itself have waited for another, so arrivals do not show who is late; the computing time of each rank does."));
  body.append(
    lead(`Arrivals at the ${formatCount(collectives.matched)} of ${formatCount(found)} matched collectives. Delay is the time that the others waited for that rank alone: wherever it came last, from the arrival before it to its own. Overlapping delays count once.`),
    lateTable(collectives.ranks));
  if (collectives.instances.length > 0) body.append(h("h3", {}, "Who came last, when"), arrivalPlot(doc));
}

function lateTable(ranks) {
  const [, delay] = extent(ranks.map((rank) => rank.delay_ns));
  const [, wait] = extent(ranks.map((rank) => rank.wait_ns));
  const level = (value, largest, css) => h("div", { class: `level ${css}`, style: { width: `${largest > 0 ? value / largest * 100 : 0}%`, visibility: value > 0 ? "visible" : "hidden" } });
  return table({
    label: "Arrival and waiting of each rank",
    rows: ranks,
    limit: 24,
    columns: [
      { head: "Rank", text: true, key: (r) => r.rank, cell: (r) => String(r.rank) },
      { head: "Came last", tip: "Of the matched collectives it took part in", key: (r) => r.last, cell: (r) => of(r.last, r.matched) },
      { head: "Came first", key: (r) => r.first, cell: (r) => formatCount(r.first) },
      { head: "Delay caused", key: (r) => r.delay_ns, cell: (r) => formatTime(r.delay_ns) },
      { head: "", text: true, class: "plot narrow", cell: (r) => level(r.delay_ns, delay, "") },
      { head: "Waited", tip: "Time in which it waited for the last to arrive; what overlaps counts once", key: (r) => r.wait_ns, cell: (r) => formatTime(r.wait_ns) },
      { head: "", text: true, class: "plot narrow", cell: (r) => level(r.wait_ns, wait, "comm") },
    ],
    sort: [3, "descending"],
  });
}

// A dot where a rank came last, as large as the first arrival's wait: a row of large dots is a straggler, scattered ones are noise.
function arrivalPlot(doc) {
  const { instances, groups } = doc.collectives;
  const lastOf = (instance) => instance.arrival_order[instance.arrival_order.length - 1];
  const came = new Set(instances.map(lastOf));
  const few = doc.ranks.length <= 32;
  const ranks = doc.ranks.map((rank) => rank.rank).filter((rank) => few || came.has(rank));
  const row = new Map(ranks.map((rank, i) => [rank, i]));
  // Differences of epoch times: exact to 256 ns in a double, far below a pixel.
  const [begin, end] = extent(instances.map((instance) => instance.start_ns));
  const dots = instances.flatMap((instance) => {
    const last = lastOf(instance);
    return row.has(last) ? [{ instance, last, at: instance.start_ns - begin, wait: extent(instance.wait_ns)[1], name: groups[instance.group]?.name ?? "collective" }] : [];
  });
  const [, longest] = extent(dots.map((dot) => dot.wait));

  const canvas = h("canvas", { role: "img", "aria-label": "When each rank came last; the table above holds the totals" });
  const labels = h("div", { class: "labels", "aria-hidden": "true" });
  const under = h("div", { class: "under", "aria-hidden": "true" });
  const frame = h("div", { class: "plane" }, labels, h("div", {}, canvas), under);
  const pitch = Math.max(2, Math.min(24, 640 / ranks.length));
  const radius = Math.max(2, Math.min(9, pitch * 0.48));
  let width = 1000;

  const place = (dot) => [radius + dot.at / Math.max(1, end - begin) * (width - 2 * radius), (row.get(dot.last) + 0.5) * pitch, Math.max(1, radius * Math.sqrt(dot.wait / Math.max(1, longest)))];

  function draw() {
    width = Math.max(240, (frame.clientWidth || 1100) - 90);
    const height = pitch * ranks.length;
    const ratio = devicePixelRatio || 1;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    const style = getComputedStyle(document.documentElement);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.fillStyle = style.getPropertyValue("--rule");
    if (pitch >= 8) for (let y = 0; y < ranks.length; y++) context.fillRect(0, Math.round((y + 0.5) * pitch), width, 1);
    context.fillStyle = style.getPropertyValue("--accent");
    context.globalAlpha = 0.7;
    for (const dot of dots) {
      const [x, y, r] = place(dot);
      context.beginPath();
      context.arc(x, y, r, 0, 2 * Math.PI);
      context.fill();
    }
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => n * pitch >= 13) ?? ranks.length;
    labels.replaceChildren(...ranks.flatMap((rank, y) => (y % every === 0 ? [h("span", { style: { top: `${(y + 0.5) * pitch}px` } }, `${y === 0 ? "rank " : ""}${rank}`)] : [])));
    under.replaceChildren(h("span", { style: { left: "0", transform: "none" } }, "first collective"), h("span", { style: { left: `${width}px`, transform: "translateX(-100%)" } }, `+${formatTime(end - begin)}`));
  }

  canvas.addEventListener("pointermove", (event) => {
    let best = null;
    let nearest = 14;
    for (const dot of dots) {
      const [x, y, r] = place(dot);
      const distance = Math.hypot(x - event.offsetX, y - event.offsetY) - r;
      if (distance < nearest) [best, nearest] = [dot, distance];
    }
    if (best === null) return tip.hide();
    const { instance } = best;
    tip.show(tip.rows(`${best.name}, last: rank ${best.last}`, [
      ["At", `+${formatTime(best.at)}`], ["Longest wait", `${formatTime(best.wait)} (rank ${instance.arrival_order[0]})`],
      ["Transfer", formatTime(instance.transfer_ns)], ["End skew", formatTime(instance.end_skew_ns)],
    ]), event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", () => tip.hide());
  darkQuery.addEventListener("change", draw);
  onResize(draw);
  requestAnimationFrame(draw);
  const shown = cuts.instances > 0 ? `the ${formatCount(instances.length)} with the longest waits, of ${formatCount(cuts.instances)} listed` : plural(instances.length, "collective");
  return h("div", {}, lead(`One dot for each matched collective (${shown}), on the row of the rank that came last; its area grows with the longest wait.${few ? "" : " Ranks that never came last have no row."}`), h("div", { class: "canvas-box" }, frame));
}
