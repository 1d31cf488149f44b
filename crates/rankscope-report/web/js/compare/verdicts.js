// The metrics of the job: what each did, how sure that is, and its interval beside the margin, all on one screen.
import { h, lead } from "../dom.js";
import { pickRank } from "../pick.js";
import { table } from "../table.js";
import { tip } from "../tip.js";
import { extent } from "../pure/scale.js";
import { defined, definitionOfMetric } from "./defined.js";
import { inUnit, isKnown, signedShare, spelledVerdict, withSign } from "./figures.js";
import { rankOfMetric } from "./selected.js";
import { chip } from "./summary.js";

const isOfJob = (metric) => metric.over === "max_of_ranks" || metric.over === "median_of_ranks";

export function drawVerdicts({ pair }, body) {
  const rows = pair.metrics.filter(isOfJob);
  const counted = pair.unit === "run" ? "Each run counts as one observation." : "One run a side, or two: steps are what is counted, and other runs may differ from these.";
  body.append(lead(`${pair.test} beside ${pair.base}, by step. ${counted} The bar is the interval of the change, the grey band the change that counts as none.`), metricsTable(rows, { plot: true, label: "Verdicts" }));
}

// A table of metrics; with `plot`, intervals are drawn on one scale.
export function metricsTable(rows, { plot, label, limit = undefined }) {
  const scale = shareScale(rows);
  const columns = [
    { head: "metric", text: true, class: "mono", key: (m) => m.name, cell: metricName },
    { head: "base", key: (m) => m.base, cell: (m) => defined("value", inUnit(m.unit, m.base)) },
    { head: "test", key: (m) => m.test, cell: (m) => defined("value", inUnit(m.unit, m.test)) },
    { head: "change", key: (m) => m.shift, cell: (m) => defined("change", withSign(m.unit, m.shift)) },
    { head: "% of base", key: (m) => m.ratio, cell: (m) => defined("share", signedShare(m.ratio)) },
    { head: "interval", key: (m) => m.lo, cell: (m) => (isKnown(m.lo) && isKnown(m.hi) ? defined("interval", `${withSign(m.unit, m.lo)} … ${withSign(m.unit, m.hi)}`) : "–") },
    ...(plot ? [{ head: "change and margin", class: "plot interval-cell", cell: (m) => shareBar(m, scale) }] : []),
    { head: "p", key: (m) => m.p_adjusted, cell: (m) => (isKnown(m.p_adjusted) ? defined("p", m.p_adjusted.toFixed(3)) : "–"), tip: "corrected for how many metrics were looked at" },
    { head: "better", text: true, key: (m) => m.direction, cell: (m) => m.direction },
    { head: "verdict", text: true, key: (m) => m.verdict, cell: (m) => chip(m.verdict) },
  ];
  return table({ columns, rows, sort: [plot ? -1 : 4, "descending"], limit: limit ?? 32, label });
}

// Its name, and the rank that it is of, to be selected.
function metricName({ name }) {
  const rank = rankOfMetric(name);
  const shown = defined(definitionOfMetric(name), rank === null ? name : name.slice(0, name.lastIndexOf("@")));
  return rank === null ? shown : h("span", {}, shown, "@", pickRank(rank, `rank${rank}`));
}

// The least and greatest share that bars show; wide enough that the margin is seen.
function shareScale(rows) {
  const ends = rows.flatMap((m) => [m.ratio, m.ratio_lo, m.ratio_hi, m.margin * 1.5, -m.margin * 1.5]).filter(isKnown);
  const [lo, hi] = ends.length > 0 ? extent(ends) : [-0.01, 0.01];
  const most = Math.min(0.5, Math.max(-lo, hi));
  return (share) => 50 + 50 * Math.max(-1, Math.min(1, share / most));
}

function shareBar(metric, at) {
  const band = h("span", { class: "band", style: { left: `${at(-metric.margin)}%`, width: `${at(metric.margin) - at(-metric.margin)}%` } });
  const parts = [band, h("span", { class: "axis" })];
  if (isKnown(metric.ratio_lo) && isKnown(metric.ratio_hi)) {
    parts.push(h("span", { class: "span", style: { left: `${at(metric.ratio_lo)}%`, width: `${at(metric.ratio_hi) - at(metric.ratio_lo)}%` } }));
  }
  if (isKnown(metric.ratio)) parts.push(h("span", { class: "point", style: { left: `${at(metric.ratio)}%` } }));
  const bar = h("div", { class: "interval shares" }, ...parts);
  return tip.on(bar, () => tip.rows(metric.name, [["change", signedShare(metric.ratio)], ["from", signedShare(metric.ratio_lo)], ["to", signedShare(metric.ratio_hi)], ["margin", signedShare(metric.margin)], ["verdict", spelledVerdict(metric.verdict)]]));
}
