// What is known of a rank or a step of a comparison: both sides, and the change.
import { formatTime } from "../pure/format.js";
import { inUnit, metricOf, spelledVerdict, withSign } from "./figures.js";
import { sidesOf, stepWords } from "./strips.js";

const OF_RANK = "step_ns@rank";

export function ranksCompared({ metrics, strips }) {
  const named = metrics.filter((metric) => metric.name.startsWith(OF_RANK)).map((metric) => Number(metric.name.slice(OF_RANK.length)));
  return [...new Set([...named, ...(strips?.sides ?? []).flatMap((side) => side.ranks)])].sort((a, b) => a - b);
}

// The rank whose metric it is, by its name; null where it is of no rank.
export function rankOfMetric(name) {
  const found = /@rank(\d{1,9})$/.exec(name);
  return found ? Number(found[1]) : null;
}

export function wordsOf({ doc, pair, at }, { rank, step }) {
  return [...(rank === null ? [] : rankWords(pair, rank)), ...(step === null ? [] : stepWords(doc, at, step)), ...(rank === null || step === null ? [] : waitWords(sidesOf(doc, at, step), rank))];
}

function rankWords(pair, rank) {
  const metric = metricOf(pair, `${OF_RANK}${rank}`);
  if (metric === null) return ["its steps are not on both sides"];
  return [`median step ${inUnit(metric.unit, metric.base)} → ${inUnit(metric.unit, metric.test)}, ${withSign(metric.unit, metric.shift)}, ${spelledVerdict(metric.verdict)}`];
}

// The longest wait of a rank in the step, on both sides.
function waitWords(sides, rank) {
  const longest = (side) => Math.max(0, ...side.instances.map(({ arrival_order: order, wait_ns: wait }) => (order.includes(rank) ? wait[order.indexOf(rank)] : 0)));
  if (sides.some((side) => side === null)) return [];
  return [`its longest wait ${sides.map((side) => formatTime(longest(side))).join(" → ")}`];
}
