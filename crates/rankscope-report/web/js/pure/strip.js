// Matched collectives as pieces on the rows of their ranks: a rank arrives, waits for the last, and then all transfer.
import { extent } from "./scale.js";

// Times are after `origin`: what is since the epoch a double holds to 256 ns.
export function stripPieces({ instances, groups }, origin) {
  return instances.flatMap((instance) => {
    const begin = instance.start_ns - origin;
    const last = begin + Math.max(0, ...instance.wait_ns);
    const name = groups[instance.group]?.name ?? "collective";
    const lastRank = instance.arrival_order[instance.arrival_order.length - 1];
    return instance.arrival_order.map((rank, i) => ({ rank, instance, name, lastRank, arrives: last - instance.wait_ns[i], starts: last, ends: last + instance.transfer_ns }));
  });
}

// Those that reach into a stretch of time.
export const piecesWithin = (pieces, [from, to]) => pieces.filter((piece) => piece.ends >= from && piece.arrives <= to);

// From the first arrival to the last end; of nothing, a stretch of some length.
export function stripReach(pieces) {
  const [from] = extent(pieces.map((piece) => piece.arrives));
  const [, to] = extent(pieces.map((piece) => piece.ends));
  return to > from ? [from, to] : [0, 1];
}

// A stretch `factor` times as long around `at`, within the whole and no shorter than `least`.
export function zoomed([from, to], [first, last], factor, at, least) {
  const length = Math.max(least, (to - from) * factor);
  if (length >= last - first) return [first, last];
  const begin = at - (at - from) / (to - from) * length;
  return moved([begin, begin + length], [first, last], 0);
}

// The same stretch further on, where the whole ends at the latest.
export function moved([from, to], [first, last], by) {
  const length = to - from;
  const begin = Math.min(Math.max(from + by, first), Math.max(first, last - length));
  return [begin, Math.min(last, begin + length)];
}

// The piece of a rank at a time: what it does there, or null. Of several the one that came last.
export function pieceAt(pieces, rank, at) {
  const found = pieces.filter((piece) => piece.rank === rank && piece.arrives <= at && at <= piece.ends);
  return found.length > 0 ? found.reduce((one, other) => (other.arrives >= one.arrives ? other : one)) : null;
}
