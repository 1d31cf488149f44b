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

// From and to of every stretch across which no line goes: at a step, in a long pause, and beside a round in which `whole` does not hold.
// Ascending; those that touch are one.
export function breaks(node, whole) {
  const list = [];
  for (let k = 1; k < node.x.length; k++) {
    const isCut = node.stepAt.has(k) || node.x[k] - node.x[k - 1] > node.pause || !whole(k) || !whole(k - 1);
    if (!isCut) continue;
    const last = list[list.length - 1];
    if (last && last[1] === node.x[k - 1]) last[1] = node.x[k];
    else list.push([node.x[k - 1], node.x[k]]);
  }
  return list;
}

// A band of milliseconds would flatten nanoseconds: the plot holds every line in a stretch of time, and bands there up to the widest but one
// in twenty.
/** @returns {[number, number]} */
export function verticalRange(shown, value, [from, to] = [-Infinity, Infinity]) {
  const [values, reaches] = [[], []];
  for (const node of shown) {
    for (let k = 0; k < node.x.length; k++) {
      if (node.x[k] < from || node.x[k] > to) continue;
      values.push(value(node, k));
      for (const bound of [node.lo[k], node.hi[k]]) if (bound !== null) reaches.push(Math.abs(bound));
    }
  }
  if (values.length === 0) return [-1, 1];
  const [lo, hi] = extent(values);
  reaches.sort((a, b) => a - b);
  const band = reaches.length > 0 ? reaches[Math.floor(0.95 * (reaches.length - 1))] : 0;
  // At least a nanosecond, or what two numbers of this size can be apart.
  const least = Math.max(1, Math.max(-lo, hi) * 2 ** -50);
  const pad = Math.max(band, (hi - lo) * 0.05, least) * 1.1;
  return [lo - pad, hi + pad];
}

// One point alone has a place in the middle.
/** @returns {[number, number]} */
export const stretched = ([from, to]) => (to > from ? [from, to] : [from - 0.5, from + 0.5]);

// What is shown of the time: from and to, or all; of one point alone that, whatever a library would give it.
export const shownTime = (points, from, to, whole) => stretched(points > 1 ? [from ?? whole[0], to ?? whole[1]] : whole);
