// How figures of a comparison are written: values in the unit of their metric, differences with their sign.
import { DASH, NBSP, formatRate, formatTime } from "../pure/format.js";

export const isKnown = (value) => value !== null && value !== undefined && Number.isFinite(value);

export const inUnit = (unit, value) => (isKnown(value) ? (unit === "GB/s" ? formatRate(value) : formatTime(value)) : DASH);

export function withSign(unit, value) {
  if (!isKnown(value)) return DASH;
  if (value === 0) return "0";
  return (value < 0 ? "−" : "+") + inUnit(unit, Math.abs(value));
}

// A share of 1 in percent, with its sign.
export function signedShare(share) {
  return isKnown(share) ? signedPercent(share * 100) : DASH;
}

export function signedPercent(percent) {
  if (!isKnown(percent)) return DASH;
  const text = Math.abs(percent).toFixed(Math.abs(percent) < 9.995 ? 2 : 1);
  return (Number(text) === 0 ? "" : percent < 0 ? "−" : "+") + text + NBSP + "%";
}

export const spelledVerdict = (verdict) => verdict.replaceAll("_", " ");

// Which of three looks a verdict has; its word is beside it in any case.
const LOOKS_OF = { improved: "good", Better: "good", regressed: "worse", Worse: "worse", equivalent: "same", Similar: "same" };
export const lookOf = (verdict) => LOOKS_OF[verdict] ?? "open";

export const metricOf = (pair, name) => pair.metrics.find((metric) => metric.name === name) ?? null;
