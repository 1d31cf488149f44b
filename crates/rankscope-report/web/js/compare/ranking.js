// The sides by the time of their steps, and every two of them beside each other.
import { empty, h, lead } from "../dom.js";
import { table } from "../table.js";
import { formatTime } from "../pure/format.js";
import { defined } from "./defined.js";
import { isKnown, signedShare, withSign } from "./figures.js";
import { chip } from "./summary.js";

export function drawRanking({ doc }, body) {
  const ranking = doc.ranking;
  if (!ranking) return body.append(empty("Two sides need no ranking: the verdict of the step says which is faster. With three sides or more they are ranked here."));
  const intro = ranking.winner === null || ranking.winner === undefined ? "No side is certain to be the fastest." : `${ranking.winner} is faster than every other side.`;
  const columns = [
    { head: "side", text: true, key: (p) => p.label, cell: (p) => p.label },
    { head: "step", key: (p) => p.step_ns, cell: (p) => (isKnown(p.step_ns) ? defined("value", formatTime(p.step_ns)) : "–"), first: "ascending" },
    { head: "beside the fastest", key: (p) => p.shift, cell: (p) => defined("change", withSign("ns", p.shift)) },
    { head: "interval", key: (p) => p.lo, cell: (p) => (isKnown(p.lo) && isKnown(p.hi) ? defined("interval", `${withSign("ns", p.lo)} … ${withSign("ns", p.hi)}`) : "–") },
    { head: "verdict", text: true, key: (p) => p.verdict, cell: (p) => chip(p.verdict) },
  ];
  body.append(lead(intro), table({ columns, rows: ranking.places, sort: [1, "ascending"], label: "Ranking" }));
  if ((ranking.pairs ?? []).length > 0) body.append(h("h3", {}, "Every two sides"), pairsTable(ranking.pairs));
}

function pairsTable(rows) {
  const columns = [
    { head: "base", text: true, key: (p) => p.base, cell: (p) => p.base },
    { head: "test", text: true, key: (p) => p.test, cell: (p) => p.test },
    { head: "change", key: (p) => p.shift, cell: (p) => defined("change", withSign("ns", p.shift)) },
    { head: "% of base", key: (p) => p.ratio, cell: (p) => defined("share", signedShare(p.ratio)) },
    { head: "interval", key: (p) => p.lo, cell: (p) => (isKnown(p.lo) && isKnown(p.hi) ? defined("interval", `${withSign("ns", p.lo)} … ${withSign("ns", p.hi)}`) : "–") },
    { head: "p", key: (p) => p.p_adjusted, cell: (p) => (isKnown(p.p_adjusted) ? defined("p", p.p_adjusted.toFixed(3)) : "–") },
    { head: "verdict", text: true, key: (p) => p.verdict, cell: (p) => chip(p.verdict) },
  ];
  return table({ columns, rows, sort: [-1, "descending"], label: "Every two sides" });
}
