// Why ranks were late: what the last rank did differently since the ranks had last met, for each rank; and what of the exposed communication is
// waiting.
import { absent, empty, h, lead, levelBar, outOf, section, swatches } from "../dom.js";
import { formatCount, formatTime, plural } from "../pure/format.js";
import { extent } from "../pure/scale.js";
import { pickRank } from "../pick.js";
import { table } from "../table.js";

const REASONS = { longer_kernels: "longer kernels", more_kernels: "more kernels", host: "host", copies: "copies", transfer: "communication", waiting: "waiting for others", device_gap: "device starts late", unrecorded: "not recorded" };

export function drawWhy(doc) {
  const { body } = section("why");
  const groups = doc.blame_groups ?? [];
  const late = (doc.blame ?? []).filter((rank) => rank.lateness_ns > 0);
  if (late.length === 0) body.append(empty("No rank came later than the median rank to a collective that was matched, or answers were left out."));
  else body.append(
    lead("Lateness is how much later than the median rank the last one came, since both had last met. It is the rank's own, or inherited from others that it waited for, or within what the clocks leave open; the three add up to it."),
    ...(groups.length > 0 ? [h("ul", { class: "plain" }, ...groups.map((sentence) => h("li", {}, sentence)))] : []),
    blameTable(late));
  const budgets = (doc.budgets ?? []).filter((budget) => budget.exposed_ns > 0);
  if (budgets.length > 0) body.append(
    h("div", { class: "bar below" }, h("h3", {}, "Waiting and transfer"), swatches([{ css: "wait", text: "waiting" }, { css: "comm", text: "transfer" }])),
    lead("Exposed communication of all ranks, split where the rank that is waited for came. Savings are wall time a step: if all ranks came together, and if every transfer were as fast as the fastest that is like it."),
    budgetTable(budgets));
}

function blameTable(rows) {
  const [, most] = extent(rows.map((r) => r.lateness_ns));
  return table({
    label: "Lateness of each rank by reason",
    rows,
    limit: 16,
    columns: [
      { head: "Rank", csv: "rank", text: true, first: "ascending", key: (r) => r.rank, cell: (r) => pickRank(r.rank) },
      { head: "Lateness", csv: "lateness_ns", key: (r) => r.lateness_ns, cell: (r) => formatTime(r.lateness_ns) },
      { head: "", text: true, class: "plot narrow", cell: (r) => levelBar(r.lateness_ns, most, "") },
      { head: "Its own", csv: "caused_ns", key: (r) => r.caused_ns, cell: (r) => formatTime(r.caused_ns) },
      { head: "Inherited", csv: "inherited_ns", tip: "It waited for others itself, in other groups", key: (r) => r.inherited_ns, cell: (r) => formatTime(r.inherited_ns) },
      { head: "Clocks", csv: "uncertain_ns", tip: "Less than the clocks leave open", key: (r) => r.uncertain_ns, cell: (r) => formatTime(r.uncertain_ns) },
      { head: "Came last", tip: "Of the matched collectives it took part in", key: (r) => r.last, cell: (r) => outOf(r.last, r.of) },
      { head: "How often", csv: "pattern", text: true, key: (r) => r.pattern, cell: (r) => (r.every_steps ? `every ${r.every_steps} steps` : r.pattern === "none" ? absent("never more than the clocks leave open") : r.pattern) },
      { head: "Because of", text: true, cell: reasons },
    ],
    sort: [1, "descending"],
  });
}

function reasons({ reasons: shown, reason_count: all }) {
  if (all === 0) return absent("nothing is known of it");
  const text = ({ kind, name, place, ns, because_of_rank: other }) => `${formatTime(ns)} ${[REASONS[kind] ?? kind, name].filter(Boolean).join(": ")}${place ? ` (${place})` : ""}${Number.isInteger(other) ? ` (rank ${other})` : ""}`;
  const more = all > shown.length ? h("span", { class: "second" }, `first ${shown.length} of ${plural(all, "reason")}`) : null;
  return h("span", {}, ...shown.map((reason) => h("span", { class: "line" }, text(reason))), more);
}

function budgetTable(rows) {
  const [, largest] = extent(rows.map((budget) => budget.exposed_ns));
  const time = (head, key, about) => ({ head, csv: key, tip: about, key: (b) => b[key], cell: (b) => formatTime(b[key]) });
  return table({
    label: "Budgets of exposed communication",
    rows,
    limit: 12,
    columns: [
      { head: "Collective", csv: "kind", text: true, class: "name", key: (b) => b.kind, cell: (b) => h("span", {}, b.kind, h("span", { class: "second clamp" }, [b.group, b.link].filter(Boolean).join(" · "))) },
      { head: "Elements", key: (b) => b.elements, cell: (b) => (Number.isFinite(b.elements) ? `${formatCount(b.elements)}${b.dtype ? ` ${b.dtype}` : ""}` : absent("not recorded")) },
      { head: "Count", key: (b) => b.count, cell: (b) => formatCount(b.count) },
      { head: "", text: true, class: "plot narrow", cell: (b) => budgetBar(b, largest) },
      time("Exposed", "exposed_ns"),
      time("Waiting", "wait_ns", "Before the rank that is waited for came"),
      time("Transfer", "transfer_ns", "After it came"),
      time("Clocks leave open", "clock_ns", "How much of the waiting may be transfer, or the other way round"),
      time("Balance saves", "balance_saves_ns_per_step", "Wall time a step, if all ranks came together"),
      time("Network saves", "network_saves_ns_per_step", "Wall time a step, if every transfer were as fast as the best like it"),
    ],
    sort: [4, "descending"],
  });
}

// Waiting and moving, as long as their share of the largest.
function budgetBar({ wait_ns: wait, transfer_ns: transfer }, largest) {
  const parts = [["wait", wait], ["comm", transfer]].filter(([, ns]) => ns > 0);
  return h("div", { class: "stack low", "aria-hidden": "true" }, ...parts.map(([css, ns]) => h("span", { class: css, style: { flex: `0 1 ${ns / largest * 100}%` } })));
}
