// The figures one looks for first.
import { h } from "../dom.js";
import { defined } from "./defined.js";
import { inUnit, lookOf, metricOf, signedShare, spelledVerdict, withSign } from "./figures.js";

export function drawSummaryTiles({ pair }, body) {
  const tiles = [["step_ns", "Step"], ["computation_ns", "Computation"], ["exposed_comm_ns", "Exposed comm"], ["idle_ns", "Idle"]]
    .map(([name, label]) => [label, metricOf(pair, name)])
    .filter(([, metric]) => metric !== null);
  body.append(...tiles.map(([label, metric]) => h("div", { class: "tile" },
    h("div", { class: "label" }, label),
    h("div", { class: "value" }, defined("change", withSign(metric.unit, metric.shift)), " ", h("small", {}, signedShare(metric.ratio))),
    h("div", { class: "sub" }, `${inUnit(metric.unit, metric.base)} → ${inUnit(metric.unit, metric.test)} `, chip(metric.verdict)))));
}

// The word of a verdict on its colour.
export const chip = (verdict) => h("a", { class: `verdict ${lookOf(verdict)}`, href: "#def-verdict" }, spelledVerdict(verdict));
