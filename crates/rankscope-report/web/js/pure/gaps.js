// Gaps over time: what was found that has a time and a size, and where it stands on a plot whose sizes span orders of magnitude.
import { extent, logarithmic } from "./scale.js";

export const gapsOf = (findings) => findings.filter((one) => one.gap_ns > 0 && one.at_ns !== null);

// Places in a box of `width` by `height`, of at least one gap. Gaps of one moment stand in the middle.
export function gapPlaces(gaps, width, height) {
  const [first, last] = extent(gaps.map((one) => one.at_ns));
  const sizes = logarithmic(gaps.map((one) => one.gap_ns), 10);
  const x = (at) => (last > first ? (at - first) / (last - first) * width : width / 2);
  const y = (ns) => (1 - sizes.at(ns)) * height;
  return { times: [first, last], marks: sizes.marks, x, y, points: gaps.map((one) => [x(one.at_ns), y(one.gap_ns)]) };
}

// The point nearest to a place; none where there is no point.
export function nearestPoint(points, x, y) {
  const distances = points.map(([px, py]) => (px - x) ** 2 + (py - y) ** 2);
  return distances.indexOf(extent(distances)[0]);
}

// Whether a rank has part in what was found.
export const concerns = (one, rank) => one.rank === rank || one.other === rank;
