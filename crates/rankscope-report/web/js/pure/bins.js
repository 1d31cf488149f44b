// Bytes between ranks as a square of cells. Ranks share cells where there are more of them than pixels.
import { extent } from "./scale.js";

const CELLS_MOST = 256;

export function trafficBins(world, pairs) {
  const per = Math.max(1, Math.ceil(world / CELLS_MOST));
  const count = Math.ceil(world / per);
  const bytes = new Float64Array(count * count);
  for (const [from, to, sent] of pairs) bytes[Math.floor(from / per) * count + Math.floor(to / per)] += sent;
  return { world, per, count, bytes, most: extent(bytes)[1] };
}

// The ranks of a row or column.
export function binName({ world, per }, i) {
  return per === 1 ? `rank ${i}` : `ranks ${i * per}–${Math.min(world, (i + 1) * per) - 1}`;
}
