import { extent } from "./scale.js";
// One node's rounds over time, as columns: which round is nearest, where a line is interrupted, how high the plot must be.

// The place of the value nearest to `t` in an ascending list, the earlier of two equally near.
export function nearest(list, t) {
  let lo = 0;
  let hi = list.length - 1;
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    if (list[mid] < t) lo = mid;
    else hi = mid;
  }
  return Math.abs(list[lo] - t) <= Math.abs(list[hi] - t) ? lo : hi;
}

// A pause that is long for this list: a line across it would show what nobody measured.
export function longPause(x) {
  const pauses = x.slice(1).map((t, k) => t - x[k]).sort((a, b) => a - b);
  return pauses.length > 0 ? 2.5 * pauses[pauses.length >> 1] : Infinity;
}

// The node with what its drawing asks of every round.
export function prepared(node) {
  return { ...node, stepAt: new Set(node.steps), degradedAt: new Set(node.degraded), pause: longPause(node.x) };
}

// Places of rounds in which `whole` holds, in runs that neither a step nor a long pause interrupts.
export function runs(node, whole) {
  const list = [];
  let run = [];
  node.x.forEach((_, k) => {
    if (node.stepAt.has(k) || node.x[k] - node.x[k - 1] > node.pause || !whole(k)) {
      list.push(run);
      run = [];
    }
    if (whole(k)) run.push(k);
  });
  list.push(run);
  return list.filter((found) => found.length > 0);
}

export const isBounded = (node, k) => node.lo[k] !== null && node.hi[k] !== null;

// A band of milliseconds would flatten nanoseconds: the plot holds every line, and bands up to the widest but one in twenty.
/** @returns {[number, number]} */
export function verticalRange(shown, value) {
  const values = shown.flatMap((node) => node.x.map((_, k) => value(node, k)));
  const reaches = shown.flatMap((node) => [...node.lo, ...node.hi]).filter((bound) => bound !== null).map(Math.abs);
  if (values.length === 0) return [-1, 1];
  const [lo, hi] = extent(values);
  reaches.sort((a, b) => a - b);
  const band = reaches.length > 0 ? reaches[Math.floor(0.95 * (reaches.length - 1))] : 0;
  // At least a nanosecond, or what two numbers of this size can be apart.
  const least = Math.max(1, Math.max(-lo, hi) * 2 ** -50);
  const pad = Math.max(band, (hi - lo) * 0.05, least) * 1.1;
  return [lo - pad, hi + pad];
}

// From times and values to pixels and back, within the margins of a plot.
export function frame({ width, height, margin }, [x0, x1], [y0, y1]) {
  const [across, down] = [width - margin.left - margin.right, height - margin.top - margin.bottom];
  const time = x1 > x0 ? x1 - x0 : 1;
  return {
    width, height, margin, across, down,
    times: [x0, x0 + time],
    values: [y0, y1],
    x: (t) => margin.left + (t - x0) / time * across,
    y: (v) => margin.top + (y1 - v) / (y1 - y0) * down,
    timeAt: (pixel) => x0 + Math.min(1, Math.max(0, (pixel - margin.left) / across)) * time,
  };
}
