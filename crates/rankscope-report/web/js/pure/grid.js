// Ranks by steps. Steps are columns by their number: ranks that recorded different steps still line up.

export function stepGrid(allRanks) {
  const ranks = allRanks.filter((rank) => rank.steps.length > 0);
  const unmarked = allRanks.filter((rank) => rank.steps.length === 0).map((rank) => rank.rank);
  const steps = [...new Set(ranks.flatMap((rank) => rank.steps.map((step) => step.step)))].sort((a, b) => a - b);
  const column = new Map(steps.map((step, i) => [step, i]));
  const cells = ranks.map((rank) => {
    const row = new Array(steps.length).fill(null);
    for (const step of rank.steps) row[column.get(step.step)] ??= step.time_ns;
    return row;
  });
  return { steps, ranks, unmarked, cells };
}
