// What is known about the ranks' clocks, and how far it can be trusted.
import { absent, empty, h, lead, orAbsent, section } from "../dom.js";
import { cuts } from "../given.js";
import { formatCount, formatTime, plural } from "../pure/format.js";
import { extent } from "../pure/scale.js";
import { pickRank } from "../pick.js";
import { table } from "../table.js";

export function drawClocks(doc) {
  const { body } = section("clocks");
  const { clock } = doc;
  body.append(lead(clockSentence(clock)));
  if (clock.offsets.length > 0) body.append(offsetTable(clock.offsets));
  if (clock.pairs.length > 0) body.append(h("details", clock.pairs.every((pair) => pair.zero_inside) ? {} : { open: "" }, h("summary", {}, "Pairs of ranks"), lead(pairSentence(clock)), pairTable(clock.pairs)));
  if (clock.gpus.length > 0) body.append(h("details", {}, h("summary", {}, "Clocks of GPUs"), lead(GPU_LEAD), gpuTable(clock.gpus)));
  if (clock.offsets.length === 0 && clock.pairs.length === 0) body.append(empty("No collective bounds the clock offsets, so they are unknown."));
}

function clockSentence(clock) {
  switch (clock.method) {
    case "measured": return "The clocks were measured by packets between the hosts, and the offsets below subtracted. The interval is guaranteed: nothing arrives before it is sent.";
    case "partly_measured": return "The clocks of some ranks were measured by packets between hosts; the others keep their recorded timestamps.";
    case "one_host": return "All ranks ran on one host and share its clock; what is subtracted is only where each recording began to count.";
    case "collectives": return "The offsets below were estimated from the collectives themselves and subtracted. The interval is what causality allows: no rank leaves a collective before every rank has entered it. Measured clocks would be stronger.";
    default: return "Times are as recorded: nothing was corrected. Waits and skews between ranks are only as good as the agreement of their clocks.";
  }
}

function offsetTable(offsets) {
  const bound = (value) => (value === null ? absent("nothing bounds it on this side") : formatTime(value));
  const [, reach] = extent(offsets.flatMap((o) => [o.offset_ns, o.lo_ns ?? 0, o.hi_ns ?? 0].map(Math.abs)));
  return table({
    label: "Clock offsets",
    rows: offsets,
    limit: 8,
    columns: [
      { head: "Rank", text: true, first: "ascending", key: (o) => o.rank, cell: (o) => pickRank(o.rank) },
      { head: "Subtracted", key: (o) => o.offset_ns, cell: (o) => (o.offset_ns === 0 ? "0" : formatTime(o.offset_ns)) },
      { head: "Drift ppm", key: (o) => o.drift_ppb, cell: (o) => (o.drift_ppb === 0 ? "0" : (o.drift_ppb / 1e3).toFixed(3)) },
      { head: "At least", key: (o) => o.lo_ns, cell: (o) => bound(o.lo_ns) },
      { head: "At most", key: (o) => o.hi_ns, cell: (o) => bound(o.hi_ns) },
      { head: "", text: true, class: "plot", cell: (o) => interval(o, reach) },
    ],
    sort: [0, "ascending"],
  });
}

function interval(offset, reach) {
  const at = (ns) => 50 + (reach > 0 ? ns / reach * 48 : 0);
  const [lo, hi] = [offset.lo_ns === null ? 0 : at(offset.lo_ns), offset.hi_ns === null ? 100 : at(offset.hi_ns)];
  return h("div", { class: "interval", "aria-hidden": "true" },
    h("span", { class: "axis" }),
    offset.lo_ns === null && offset.hi_ns === null ? null : h("span", { class: "span", style: { left: `${lo}%`, width: `${Math.max(0, hi - lo)}%` } }),
    h("span", { class: "point", style: { left: `${at(offset.offset_ns)}%` } }));
}

const GPU_LEAD = "How far each GPU's clock is ahead of the rank's own, in the window of at most ten seconds that says most. A kernel starts after its launch and stops before the host learns of it: that guarantees the interval.";

function gpuTable(gpus) {
  const none = "no window has a line";
  const half = (g) => Math.max(g.offset_ns - g.lo_ns, g.hi_ns - g.offset_ns);
  return table({
    label: "Clocks of GPUs",
    rows: gpus,
    limit: 8,
    columns: [
      { head: "Rank", text: true, first: "ascending", key: (g) => g.rank, cell: (g) => pickRank(g.rank) },
      { head: "Ahead", key: (g) => g.offset_ns, cell: (g) => orAbsent(g.offset_ns, formatTime, none) },
      { head: "Guaranteed", key: (g) => (g.offset_ns === null ? Infinity : half(g)), cell: (g) => (g.offset_ns === null ? absent(none) : guaranteed(half(g), g.proven)) },
      { head: "Drift ppm", key: (g) => g.drift_ppb, cell: (g) => orAbsent(g.drift_ppb, (ppb) => (ppb / 1e3).toFixed(3), none) },
      { head: "Windows", key: (g) => g.windows, cell: (g) => formatCount(g.windows) },
      { head: "Without a line", text: true, key: (g) => countOf(g.lineless), cell: (g) => whyOf(g.lineless) },
      { head: "Operations", key: (g) => g.operations, cell: (g) => formatCount(g.operations) },
      { head: "Not used", text: true, key: (g) => countOf(g.unusable), cell: (g) => whyOf(g.unusable) },
      { head: "On the timeline", key: (g) => g.placed, cell: (g) => orAbsent(g.placed, formatCount, "not told by this part") },
      { head: "Not there", text: true, key: (g) => countOf(g.not_placed), cell: (g) => whyOf(g.not_placed) },
    ],
    sort: [2, "descending"],
  });
}

const guaranteed = (half, proven) => (proven ? `±${formatTime(half)}` : h("span", { title: "no proof: some times lie oddly beside the others" }, `(±${formatTime(half)})`));
const countOf = (counts) => counts.reduce((all, { count }) => all + count, 0);
const whyOf = (counts) => (counts.length === 0 ? "none" : counts.map(({ reason, count }) => `${formatCount(count)} ${GPU_REASONS[reason] ?? reason}`).join(", "));

const GPU_REASONS = {
  too_few: "of too few operations", one_sided: "bounded from one side", contradiction: "that no clock explains",
  unusable: "not used", no_line: "without a line", odd: "among odd times", unlaunched: "without a launch", several_files: "of several files",
  untold: "not told", out_of_range: "far from any clock", backwards: "backwards", too_long: "longer than the host waited", contradicts: "against others", after_contradiction: "behind those",
};

function pairSentence(clock) {
  const apart = clock.pairs.filter((pair) => !pair.zero_inside).length;
  const cut = cuts.pairs > 0 ? ` ${formatCount(clock.pairs.length)} of ${formatCount(cuts.pairs)} pairs are in this page.` : "";
  const verdict = apart > 0 ? `Equal clocks are impossible for ${apart} of ${plural(clock.pairs.length, "pair")}.` : `Equal clocks are possible for every pair.`;
  return `The offset between two clocks as recorded lies in this interval. ${verdict}${cut}`;
}

function pairTable(pairs) {
  return table({
    label: "Clock intervals of pairs of ranks",
    rows: pairs,
    limit: 10,
    columns: [
      { head: "Ranks", text: true, key: (p) => p.a * 1e6 + p.b, cell: (p) => `${p.a} and ${p.b}` },
      { head: "At least", key: (p) => p.lo_ns, cell: (p) => formatTime(p.lo_ns) },
      { head: "At most", key: (p) => p.hi_ns, cell: (p) => formatTime(p.hi_ns) },
      { head: "Equal clocks", key: (p) => (p.zero_inside ? 0 : 1), cell: (p) => (p.zero_inside ? "possible" : h("span", { class: "bad" }, "impossible")) },
    ],
    sort: [3, "descending"],
  });
}
