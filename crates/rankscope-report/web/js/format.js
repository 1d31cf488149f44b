// Numbers as people read them: three digits and a unit, the same rules as the terminal summary.

// Full lengths of the lists the page was given only a part of; zero where it has all.
const cuts = JSON.parse(document.getElementById("cuts").textContent);

const NBSP = "\u202f";
const DASH = "–";

function scaled(value, units) {
  if (value === null || value === undefined || !Number.isFinite(value)) return DASH;
  const [unit, size] = units.find(([, size]) => Math.abs(value) < 999.5 * size) ?? units[units.length - 1];
  const v = value / size;
  const a = Math.abs(v);
  const decimals = size === 1 ? 0 : a < 9.995 ? 2 : a < 99.95 ? 1 : 0;
  const text = v.toFixed(decimals).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
  return text + NBSP + unit;
}

const formatTime = (ns) => (ns === 0 ? "0" : scaled(ns, [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]]));
const formatBytes = (n) => scaled(n, [["B", 1], ["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40]]);
const formatRate = (gbps) => scaled(Number.isFinite(gbps) ? gbps * 1e9 : null, [["B/s", 1], ["kB/s", 1e3], ["MB/s", 1e6], ["GB/s", 1e9]]);
const formatCount = (n) => n.toLocaleString("en-US");
const formatShare = (part, whole) => (whole > 0 ? (part / whole * 100).toFixed(1) + NBSP + "%" : DASH);
const plural = (n, noun) => `${formatCount(n)} ${noun}${n === 1 ? "" : "s"}`;

// One unit for a whole column, so that rows compare at a glance.
function columnUnit(largest) {
  const units = [["s", 1e9, 3], ["ms", 1e6, 1], ["µs", 1e3, 1], ["ns", 1, 0]];
  const [unit, size, decimals] = units.find(([, size]) => largest >= 10 * size) ?? units[3];
  return { unit, text: (ns) => (ns / size).toFixed(decimals) };
}

// Ascending ranks as ranges: 0–3, 6.
function rankList(ranks, most = 8) {
  const ranges = [];
  for (const rank of ranks) {
    const last = ranges[ranges.length - 1];
    if (last && last[1] + 1 === rank) last[1] = rank;
    else ranges.push([rank, rank]);
  }
  const parts = ranges.slice(0, most).map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`));
  const rest = ranges.slice(most).reduce((n, [a, b]) => n + b - a + 1, 0);
  if (rest > 0) parts.push(`${rest} more`);
  return parts.join(", ");
}

// Spread of a list that may be too long for Math.max(...list).
function extent(values) {
  let lo = Infinity;
  let hi = -Infinity;
  for (const v of values) {
    if (v < lo) lo = v;
    if (v > hi) hi = v;
  }
  return [lo, hi];
}
