// Every rule: what it asks, how often there was something to judge and how often it is broken, and what to do about that.
import { empty, h, lead, note, section } from "../dom.js";
import { formatCount } from "../pure/format.js";
import { table } from "../table.js";

export const ruleName = (rule) => rule.replaceAll("_", " ");

// How much a breach weighs, as a tag that reads without its colour.
export const weightTag = (weight) => h("span", { class: `tag ${weight === "violation" ? "problem" : weight === "loss" ? "caution" : ""}` }, weight);

export function drawRules({ rules }) {
  const { body } = section("rules");
  const judged = rules.filter((one) => one.judged > 0 || one.found > 0);
  if (judged.length === 0) body.append(empty("These traces hold nothing that a rule is about."));
  else body.append(lead("Each rule, how often these traces hold something that it is about, and how often it is broken."), rulesTable(judged));
  const idle = rules.filter((one) => !judged.includes(one));
  if (idle.length > 0) body.append(note(`Nothing to check for: ${idle.map((one) => ruleName(one.rule)).join(", ")}.`));
}

// What stands between backticks is typed.
const withCode = (text) => h("span", {}, ...text.split("`").map((part, at) => (at % 2 === 1 ? h("code", {}, part) : part)));

function rulesTable(rows) {
  return table({
    label: "Rules",
    rows,
    columns: [
      { head: "Rule", csv: "rule", text: true, class: "name", key: (r) => r.rule, cell: (r) => h("span", {}, ruleName(r.rule), h("span", { class: "second" }, r.asks)) },
      { head: "Weight", csv: "weight", text: true, key: (r) => r.weight, cell: (r) => (r.found > 0 ? weightTag(r.weight) : r.weight) },
      { head: "Judged", csv: "judged", key: (r) => r.judged, cell: (r) => formatCount(r.judged) },
      { head: "Broken", csv: "found", key: (r) => r.found, cell: (r) => (r.found > 0 ? h("b", {}, formatCount(r.found)) : "0") },
      { head: "What to do", text: true, class: "name", cell: (r) => (r.found > 0 ? withCode(r.remedy) : h("span", { class: "of" }, "nothing")) },
    ],
    sort: [-1, "descending"],
  });
}
