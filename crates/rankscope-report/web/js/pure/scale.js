// From values to places: ranges, ticks, which labels fit. What is computed here places and colours; it is never shown as a figure.

// Least and greatest of a list that may be too long for Math.min(...list).
/** @param {Iterable<number>} values @returns {[number, number]} */
export function extent(values) {
  let lo = Infinity;
  let hi = -Infinity;
  for (const v of values) {
    if (v < lo) lo = v;
    if (v > hi) hi = v;
  }
  return [lo, hi];
}

// Room around an extent, so that nothing lies on the edge; of no value at all any stretch will do.
/** @param {[number, number]} range @returns {[number, number]} */
export function padded([lo, hi]) {
  if (!(hi >= lo)) return [0, 1];
  const pad = Math.max((hi - lo) * 0.06, Math.abs(hi) * 1e-6, 1);
  return [lo - pad, hi + pad];
}

// Multiples of a round step of which between two and seven fit. None where the ends are no numbers or do not differ.
export function ticks(lo, hi) {
  if (!(hi > lo) || !Number.isFinite(hi - lo)) return [];
  const raw = (hi - lo) / 6;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((size) => size >= raw) ?? raw;
  const list = [];
  const first = Math.ceil(lo / step);
  for (let i = 0; i <= MOST_TICKS; i++) {
    const tick = (first + i) * step;
    // Near 2^63 a step can be less than what tells two numbers apart.
    if (tick >= lo && tick <= hi && tick !== list[list.length - 1]) list.push(tick);
  }
  return list;
}
const MOST_TICKS = 9;

// Every how manieth label is written so that each has `least` pixels, where neighbours are `pitch` apart.
export function labelEvery(count, pitch, least, steps = DECIMAL) {
  return steps.find((n) => n * pitch >= least) ?? Math.max(1, count);
}
const DECIMAL = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000];
export const BINARY = [1, 2, 4, 8, 16, 32, 64, 128];

// A logarithmic axis in whole powers of `base` that holds all values with a margin: from base^first to base^last.
export function logarithmic(values, base) {
  const power = (v) => Math.log(v) / Math.log(base);
  const [lo, hi] = extent(values);
  const [first, last] = [Math.floor(power(lo) - 0.01), Math.ceil(power(hi) + 0.01)];
  const marks = Array.from({ length: last - first + 1 }, (_, i) => base ** (first + i));
  return { marks, at: (v) => (power(v) - first) / (last - first) };
}
