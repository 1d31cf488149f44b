// Numbers as people read them: three digits and a unit, the same rules as the terminal summary.

export const NBSP = "\u202f";
export const DASH = "–";
const MINUS = "−";

function scaled(value, units) {
  if (value === null || value === undefined || !Number.isFinite(value)) return DASH;
  const [unit, size] = units.find(([, size]) => Math.abs(value) < 999.5 * size) ?? units[units.length - 1];
  const v = value / size;
  const a = Math.abs(v);
  const decimals = size === 1 ? 0 : a < 9.995 ? 2 : a < 99.95 ? 1 : 0;
  const text = v.toFixed(decimals).replace(/^-(?=[0.]*$)/, "").replace("-", MINUS);
  return text + NBSP + unit;
}

export const formatTime = (ns) => (ns === 0 ? "0" : scaled(ns, [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]]));
export const formatBytes = (n) => scaled(n, [["B", 1], ["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40]]);
export const formatRate = (gbps) => scaled(Number.isFinite(gbps) ? gbps * 1e9 : null, [["B/s", 1], ["kB/s", 1e3], ["MB/s", 1e6], ["GB/s", 1e9]]);
export const formatCount = (n) => n.toLocaleString("en-US");
export const formatFigure = (x) => (Number.isInteger(x) ? formatCount(x) : x.toLocaleString("en-US", { maximumFractionDigits: Math.abs(x) < 1 ? 4 : 2 }));
export const formatShare = (part, whole) => (whole > 0 ? (part / whole * 100).toFixed(1) + NBSP + "%" : DASH);
export const formatTimes = (x) => `${x.toFixed(3)}${NBSP}×`;
export const plural = (n, noun) => `${formatCount(n)} ${noun}${n === 1 ? "" : "s"}`;
export const withMinus = (text) => text.replace("-", MINUS);

export const signedTime = (ns) => (ns > 0 ? `+${formatTime(ns)}` : formatTime(ns));

export const signed = (ns) => `${ns < 0 ? MINUS : "+"}${Math.abs(ns)}${NBSP}ns`;

// Every nanosecond: three digits of a second hide what was measured. Beyond 2^53 ns (104 days) a number here is a
// microsecond apart from the next, and no digit is shown that it does not hold.
export function exact(ns) {
  if (Math.abs(ns) < 1e6) return signed(ns);
  return `${ns < 0 ? MINUS : "+"}${(Math.abs(ns) / 1e9).toFixed(Number.isSafeInteger(ns) ? 9 : 5)}${NBSP}s`;
}

// One unit for a whole column, so that rows compare at a glance.
export function columnUnit(largest) {
  /** @type {[string, number, number][]} */
  const units = [["s", 1e9, 3], ["ms", 1e6, 1], ["µs", 1e3, 1], ["ns", 1, 0]];
  const [unit, size, decimals] = units.find(([, size]) => largest >= 10 * size) ?? units[3];
  return { unit, text: (ns) => (ns / size).toFixed(decimals) };
}

// Ascending ranks, or other numbers, as ranges: 0–3, 6.
export function rankList(ranks, most = 8) {
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
