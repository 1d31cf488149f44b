// Matched collectives as dots in time, each on the row of the rank that came last.
import { extent } from "./scale.js";

const lastOf = (instance) => instance.arrival_order[instance.arrival_order.length - 1];

// Up to so many ranks each has a row; of more, only those that ever came last.
const ALL_HAVE_ROWS = 32;

// Rows are ranks; a dot has its row, its distance from the first start, and the longest wait.
export function arrivals(ranks, instances, groups) {
  const all = ranks.length <= ALL_HAVE_ROWS;
  const late = new Set(instances.map(lastOf));
  const rows = ranks.map((rank) => rank.rank).filter((rank) => all || late.has(rank));
  const rowOf = new Map(rows.map((rank, i) => [rank, i]));
  const [begin, end] = extent(instances.map((instance) => instance.start_ns));
  const dots = instances.filter((instance) => rowOf.has(lastOf(instance))).map((instance) => ({
    instance,
    last: lastOf(instance),
    row: rowOf.get(lastOf(instance)),
    at: instance.start_ns - begin,
    wait: extent(instance.wait_ns)[1],
    name: groups[instance.group]?.name ?? "collective",
  }));
  return { all, rows, dots, duration: end - begin, longest: extent(dots.map((dot) => dot.wait))[1] };
}

// The dot whose rim is nearest to a point, if one is nearer than `most`. `place` gives a dot's centre and radius.
export function nearestDot(dots, place, px, py, most) {
  let best = null;
  let reach = most;
  for (const dot of dots) {
    const [x, y, radius] = place(dot);
    const distance = Math.hypot(x - px, y - py) - radius;
    if (distance < reach) [best, reach] = [dot, distance];
  }
  return best;
}
