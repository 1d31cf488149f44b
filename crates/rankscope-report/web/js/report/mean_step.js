// What a step consists of: one bar, and each part with its time and share. Transfer and waiting for late ranks are apart.
import { h } from "../dom.js";
import { formatShare, formatTime, plural } from "../pure/format.js";

const STEP_PARTS = [
  ["computation", "Computation", "compute", "Kernels or operators"],
  ["transfer", "Transfer", "comm", "Communication that nothing hides, once all ranks had come"],
  ["waiting", "Waiting for others", "wait", "Communication that nothing hides, before the last rank had come"],
  ["unsplit", "Other communication", "unsplit", "Communication that nothing hides, of which it is not known what is waiting"],
  ["exposed_memcpy", "Copies", "memcpy", "Copies and fills that nothing hides"],
  ["idle", "Idle", "idle", "Nothing ran"],
];

export function meanStep({ mean_step: step }) {
  if (!step) return [];
  const shown = STEP_PARTS.filter(([key]) => step[key] >= step.total / 2000);
  const of = step.steps > 0 ? `mean of ${plural(step.steps, "step")} on ${plural(step.ranks, "rank")}` : `no rank marks steps: the recording, mean of ${plural(step.ranks, "rank")}`;
  const bar = h("div", { class: "stack tall", "aria-hidden": "true" }, ...shown.map(([key, , css]) => h("span", { class: css, style: { flex: `0 1 ${step[key] / step.total * 100}%` } })));
  const part = ([key, name, css, about]) => h("li", { title: about }, h("span", {}, h("span", { class: `swatch ${css}` }), name), h("b", {}, formatTime(step[key])), h("span", { class: "of" }, formatShare(step[key], step.total)));
  return [h("div", { class: "mean-step" },
    h("p", { class: "headline" }, h("b", {}, formatTime(step.total)), step.steps > 0 ? " a step" : " recorded", h("span", { class: "of" }, `, ${of}`)),
    bar, h("ul", { class: "parts" }, ...shown.map(part)))];
}
