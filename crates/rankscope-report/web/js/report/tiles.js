// The figures one looks for first. Each is a value of the document or the range over ranks, never a new statistic.
import { absent, h, outOf } from "../dom.js";
import { NBSP, formatCount, formatTime, rankList } from "../pure/format.js";
import { extent } from "../pure/scale.js";

export function tilesOf(doc) {
  const tiles = [ranksTile(doc)];
  const timed = doc.ranks.filter((rank) => rank.time_ns.total > 0);
  if (timed.length > 0) {
    const longest = timed.reduce((a, b) => (b.time_ns.total > a.time_ns.total ? b : a));
    tiles.push(["Longest rank", formatTime(longest.time_ns.total), `rank ${longest.rank}`]);
    tiles.push(rangeTile("Computation", timed, "computation", "least", "compute"));
    tiles.push(rangeTile("Exposed comm", timed, "exposed_comm", "most", "comm"));
    tiles.push(rangeTile("Idle", timed, "idle", "most", "idle"));
  }
  tiles.push(...collectiveTiles(doc.collectives));
  return h("div", { class: "tiles" },
    ...tiles.map(([label, value, sub, swatch]) =>
      h("div", { class: "tile" }, h("div", { class: "label" }, swatch ? h("span", { class: `swatch ${swatch}` }) : null, label), h("div", { class: "value" }, value), h("div", { class: "sub" }, sub))));
}

function ranksTile(doc) {
  const missing = doc.missing_ranks;
  const sub = missing.length > 0 ? `missing ${rankList(missing, 3)}` : doc.world_size === null ? "world size not recorded" : "none missing";
  return ["Ranks", doc.world_size === null ? formatCount(doc.ranks.length) : outOf(doc.ranks.length, doc.world_size), sub];
}

// Least to most share of the rank's own total, and which rank stands at the end that hurts.
function rangeTile(label, ranks, key, end, swatch) {
  const share = (rank) => rank.time_ns[key] / rank.time_ns.total * 100;
  const [lo, hi] = extent(ranks.map(share));
  const worst = ranks.find((rank) => share(rank) === (end === "least" ? lo : hi));
  const digits = hi < 9.95 ? 1 : 0;
  const [a, b] = [lo.toFixed(digits), hi.toFixed(digits)];
  const sub = ranks.length > 1 && a !== b ? `${end}: rank ${worst.rank}` : ranks.length > 1 ? "every rank" : `rank ${worst.rank}`;
  return [label, (a === b ? a : `${a}–${b}`) + NBSP + "%", sub, swatch];
}

function collectiveTiles(collectives) {
  const found = collectives.matched + collectives.unmatched;
  if (found === 0) return [["Collectives", absent("no collectives in these traces"), "none found"]];
  const tiles = [["Matched", outOf(collectives.matched, found), collectives.unmatched > 0 ? `${formatCount(collectives.unmatched)} unmatched` : "collectives, all of them"]];
  const latest = collectives.ranks.reduce((a, b) => (a === null || b.delay_ns > a.delay_ns ? b : a), null);
  if (latest !== null && latest.delay_ns > 0) {
    tiles.push(["Made others wait most", `rank ${latest.rank}`, `${formatTime(latest.delay_ns)}, last ${latest.last} of ${latest.matched}`]);
  }
  return tiles;
}
