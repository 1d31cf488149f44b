// Who is late: who came last at matched collectives, what the others waited, and when it happened.
import { foldedTable, rankOf } from "../fold.js";
import { empty, h, lead, levelBar, outOf, section } from "../dom.js";
import { formatCount, formatTime } from "../pure/format.js";
import { extent } from "../pure/scale.js";
import { table } from "../table.js";
import { arrivalPlot } from "./came_last.js";

export function drawLate(doc) {
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
    foldedTable(collectives.ranks, doc.alike?.late, lateTable));
  if (collectives.instances.length > 0) body.append(h("h3", {}, "Who came last, when"), ...arrivalPlot(doc));
}

function lateTable(ranks) {
  const [, delay] = extent(ranks.map((rank) => rank.delay_ns));
  const [, wait] = extent(ranks.map((rank) => rank.wait_ns));
  return table({
    label: "Arrival and waiting of each rank",
    rows: ranks,
    limit: 24,
    columns: [
      { head: "Rank", text: true, key: (r) => r.rank, cell: rankOf },
      { head: "Came last", tip: "Of the matched collectives it took part in", key: (r) => r.last, cell: (r) => outOf(r.last, r.matched) },
      { head: "Came first", key: (r) => r.first, cell: (r) => formatCount(r.first) },
      { head: "Delay caused", key: (r) => r.delay_ns, cell: (r) => formatTime(r.delay_ns) },
      { head: "", text: true, class: "plot narrow", cell: (r) => levelBar(r.delay_ns, delay, "") },
      { head: "Waited", tip: "Time in which it waited for the last to arrive; what overlaps counts once", key: (r) => r.wait_ns, cell: (r) => formatTime(r.wait_ns) },
      { head: "", text: true, class: "plot narrow", cell: (r) => levelBar(r.wait_ns, wait, "comm") },
    ],
    sort: [3, "descending"],
  });
}
