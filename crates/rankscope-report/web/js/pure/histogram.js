// How often values occur, for an outline: its corners as [share of the most frequent, share of the height], from the lowest value up.

export function histogram(values, [lo, hi], bins) {
  const counts = new Array(bins).fill(0);
  for (const v of values) if (lo <= v && v <= hi) counts[Math.min(bins - 1, Math.floor((v - lo) / (hi - lo) * bins))] += 1;
  const most = Math.max(1, ...counts);
  return counts.flatMap((count, bin) => [[count / most, bin / bins], [count / most, (bin + 1) / bins]]);
}
