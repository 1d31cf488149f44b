// A canvas with labels beside and under it, and what its colours mean.
import { h } from "./dom.js";
import { labelEvery } from "./pure/scale.js";

// A canvas with room for labels of its rows and columns.
export function plane(attributes, title) {
  const canvas = h("canvas", { role: "img", ...attributes });
  const rows = h("div", { class: "labels", "aria-hidden": "true" });
  const under = h("div", { class: "under", "aria-hidden": "true" });
  const inner = h("div", { class: "plane" }, rows, h("div", {}, canvas), under, title ? h("div", { class: "axis-title" }, title) : null);
  const element = h("div", { class: "canvas-box" }, inner);
  return { element, canvas, rows, under, width: () => Math.max(240, (element.clientWidth || 1100) - 90) };
}

// Names at the middle of their rows; `what` says before the first what they are.
export function labelRows(rows, names, pitch, what, every = labelEvery(names.length, pitch, 13)) {
  rows.replaceChildren(...someOf(names, every).map(([name, y]) => h("span", { style: { top: `${(y + 0.5) * pitch}px` } }, y === 0 ? `${what} ${name}` : String(name))));
}

export function labelColumns(under, names, pitch, every = labelEvery(names.length, pitch, 34)) {
  under.replaceChildren(...someOf(names, every).map(([name, x]) => h("span", { style: { left: `${(x + 0.5) * pitch}px` } }, String(name))));
}

const someOf = (names, every) => names.map((name, i) => [name, i]).filter(([, i]) => i % every === 0);

// What the colours of a ramp mean, from the least to the most.
export function labelRamp(ramp, least, gradient, most) {
  ramp.replaceChildren(least, h("i", { style: { background: gradient } }), most);
}
