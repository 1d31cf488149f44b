// What a transfer of some size takes: a start and a rate, fitted to what was measured. It places a line and is never shown as a figure.

// The least squares of relative errors of `ns = start + bytes / rate`; null where fewer than three sizes tell.
export function fitTransfer(points) {
  const known = points.filter(({ bytes, ns }) => bytes > 0 && ns > 0);
  if (new Set(known.map(({ bytes }) => bytes)).size < 3) return null;
  const sums = { w: 0, x: 0, xx: 0, y: 0, xy: 0 };
  for (const { bytes, ns } of known) {
    const w = 1 / ns ** 2;
    sums.w += w;
    sums.x += w * bytes;
    sums.xx += w * bytes * bytes;
    sums.y += w * ns;
    sums.xy += w * bytes * ns;
  }
  const slope = (sums.w * sums.xy - sums.x * sums.y) / (sums.w * sums.xx - sums.x * sums.x);
  const start = (sums.y - slope * sums.x) / sums.w;
  if (!(slope > 0)) return null;
  // No transfer starts before it begins: then the rate alone is fitted.
  return start >= 0 ? { start, slope } : { start: 0, slope: sums.xy / sums.xx };
}
