// Collectives by name, type, size and group; size against bandwidth; and those that have no counterpart.
import { absent, empty, h, lead, orAbsent, outOf, section } from "../dom.js";
import { cuts } from "../given.js";
import { formatBytes, formatCount, formatRate, formatTime, plural, rankList } from "../pure/format.js";
import { extent } from "../pure/scale.js";
import { table } from "../table.js";
import { bandwidthPlot } from "./bandwidth.js";

const NONE_MATCHED = "none of these was found on all of its ranks";

export function drawCollectives(doc) {
  const { body } = section("collectives");
  const { groups, unmatched, unmatched_list: list } = doc.collectives;
  if (groups.length === 0) body.append(empty("No collectives were found in these traces."));
  else {
    body.append(lead("Figures are means over matched collectives. Transfer is the shortest time any rank spends inside: what remains once every rank has arrived. Wait is the time spent waiting for the last arrival. Exposed time is communication not overlapped by compute, summed over ranks."), groupTable(groups));
    const plotted = groups.filter((g) => g.bytes > 0 && g.busbw_gbps_mean > 0);
    if (plotted.length > 1) body.append(h("h3", {}, "Size and bus bandwidth"), lead("One dot for each row of the table, mean over the matched ones; its area grows with the exposed time. Lines are fitted where a sort has three sizes: a start, and a rate."), bandwidthPlot(plotted));
  }
  if (unmatched > 0 || groups.length > 0) body.append(h("h3", {}, "Unmatched"));
  if (unmatched === 0 && groups.length > 0) body.append(empty("None: every collective was found on every rank of its group that has a file."));
  if (unmatched > 0) body.append(lead(unmatchedSentence(unmatched, list.length)), list.length > 0 ? unmatchedTable(list) : "");
}

function groupTable(groups) {
  const mean = (head, key, format, about) => ({ head, csv: key, tip: about, key: (g) => g[key], cell: (g) => orAbsent(g[key], format, g.matched === 0 ? NONE_MATCHED : "the trace does not record the size") });
  return table({
    label: "Collectives",
    rows: groups,
    limit: 20,
    columns: [
      { head: "Collective", csv: "name", text: true, class: "name", key: (g) => g.name, cell: (g) => h("span", {}, h("span", { class: "clamp", title: g.name }, g.name), h("span", { class: "second clamp" }, groupAside(g))) },
      { head: "Type", csv: "dtype", text: true, key: (g) => g.dtype, cell: (g) => g.dtype || absent("not recorded") },
      { head: "Size", csv: "bytes", tip: "Bytes the bandwidth counts", key: (g) => g.bytes, cell: (g) => orAbsent(g.bytes, formatBytes, "the trace does not record the size") },
      { head: "Ranks", csv: "ranks", tip: "Ranks of the process group", key: (g) => g.ranks, cell: (g) => formatCount(g.ranks) },
      { head: "Matched", csv: "matched", tip: "Found on every rank of the group that has a file, of all found", key: (g) => g.matched, cell: (g) => outOf(g.matched, g.count) },
      mean("Transfer", "transfer_ns_mean", formatTime, "Shortest time any rank spends inside, mean"),
      mean("Wait", "wait_ns_mean", formatTime, "Wait for the last arrival, mean over ranks and collectives"),
      mean("Start skew", "start_skew_ns_mean", formatTime, "Last arrival minus first, mean"),
      mean("End skew, max", "end_skew_ns_max", formatTime, "Last end minus first, the largest"),
      mean("Alg. bw", "algbw_gbps_mean", formatRate, "Bytes over transfer time, mean"),
      mean("Bus bw", "busbw_gbps_mean", formatRate, "The same, times the traffic the operation causes per rank"),
      { head: "Exposed", csv: "exposed_ns", tip: "Time no computation hid, summed over ranks", key: (g) => g.exposed_ns, cell: (g) => formatTime(g.exposed_ns) },
    ],
    sort: [11, "descending"],
  });
}

const groupAside = (g) => [g.kind && g.kind !== g.name ? g.kind : null, g.process_group || null].filter(Boolean).join(" · ");

function unmatchedSentence(unmatched, listed) {
  const all = cuts.unmatched || listed;
  const shown = listed > 0 && listed < unmatched ? ` ${formatCount(listed)} of ${formatCount(unmatched)} are listed here${all > listed ? ", the others in report.json" : ""}.` : "";
  return `${plural(unmatched, "collective")} without a counterpart on every rank of the group, left out of all means.${shown}`;
}

function unmatchedTable(list) {
  const [begin] = extent(list.map((u) => u.start_ns));
  const ranks = (key, none) => (u) => (u[key].length > 0 ? rankList(u[key]) : absent(none));
  return table({
    label: "Unmatched collectives",
    rows: list,
    limit: 12,
    columns: [
      { head: "Collective", text: true, key: (u) => u.name, cell: (u) => u.name },
      { head: "Process group", text: true, key: (u) => u.process_group, cell: (u) => u.process_group || absent("not recorded") },
      { head: "Found on ranks", text: true, cell: ranks("present", "on none") },
      { head: "Missing on ranks", text: true, cell: ranks("absent", "no other rank of the group has a file") },
      { head: "Start after the first of these", first: "ascending", key: (u) => u.start_ns, cell: (u) => `+${formatTime(u.start_ns - begin)}` },
    ],
    sort: [4, "ascending"],
  });
}
