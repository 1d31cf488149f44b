// What a closed section of a comparison has to say, in a line. Figures are those that stand in it.
import { formatCount, plural } from "../pure/format.js";
import { withSign } from "./figures.js";

const CHANGES = [["swapped", "replaced"], ["new", "new"], ["gone", "gone"], ["count_changed", "other counts"], ["reordered", "in another order"], ["varying", "that vary within a side"]];

export function briefsOf({ doc, pair, at, beside }) {
  return {
    ranking: doc.ranking?.winner ? `${doc.ranking.winner.slice(0, 60)} is the fastest` : "no side is certain to be the fastest",
    distributions: `${plural(doc.sides[0]?.steps ?? 0, "step")} of ${pair.base.slice(0, 60)} beside ${formatCount(doc.sides[at + 1]?.steps ?? 0)} of ${pair.test.slice(0, 60)}, and rank by rank`,
    collectives: movedMost(beside?.collectives ?? []),
    structure: structureInShort(pair.structure),
    plots: "charts of means, ranks and collectives",
    metrics: `${plural(pair.metrics.length, "metric")}, of the job, of ranks and of collectives`,
    definitions: "and what verdicts mean",
  };
}

function movedMost(rows) {
  const known = rows.filter((row) => Number.isFinite(row.latency.diff));
  if (known.length === 0) return rows.length === 0 ? "not in tables of both sides" : "none on both sides";
  const most = known.reduce((one, other) => (Math.abs(other.latency.diff) > Math.abs(one.latency.diff) ? other : one));
  return `most changed ${most.name.slice(0, 60)} ${most.dtype.slice(0, 20)}, latency ${withSign("ns", most.latency.diff)}`;
}

function structureInShort(structure) {
  const counted = CHANGES.map(([key, words]) => [(structure[key] ?? []).length, words]).filter(([count]) => count > 0);
  return counted.length > 0 ? counted.map(([count, words]) => `${formatCount(count)} ${words}`).join(", ") : "nothing was added, removed or replaced";
}
