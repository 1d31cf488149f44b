// What was added, removed, replaced, is there another number of times or is launched in another order; and what runs of one side differ in.
import { empty, h, lead } from "../dom.js";
import { table } from "../table.js";
import { formatCount, formatTime } from "../pure/format.js";
import { defined } from "./defined.js";

const SORTS = [["swapped", "replaced"], ["new", "new"], ["gone", "gone"], ["count_changed", "other count"]];

export function drawStructure({ pair }, body) {
  const rows = SORTS.flatMap(([key, sort]) => (pair.structure[key] ?? []).map((change) => ({ sort, change })));
  rows.push(...(pair.structure.reordered ?? []).map((order) => ({ sort: "other order", change: reordered(order) })));
  rows.push(...(pair.structure.varying ?? []).map((one) => ({ sort: "varies", change: varying(one) })));
  if (rows.length === 0) return body.append(empty("Nothing was added, removed or replaced, as far as both sides have tables of operators, kernels and collectives."));
  const columns = [
    { head: "change", text: true, key: (r) => r.sort, cell: (r) => h("b", {}, r.sort) },
    { head: "kind", text: true, key: (r) => r.change.kind, cell: (r) => r.change.kind.replaceAll("_", " ") },
    { head: "what", text: true, class: "name", key: (r) => r.change.name, cell: (r) => (r.change.replaced_by ? h("span", {}, r.change.name, h("span", { class: "second" }, `→ ${r.change.replaced_by}`)) : r.change.name) },
    { head: "within", text: true, class: "name", key: (r) => r.change.within ?? "", cell: within },
    { head: "count", key: (r) => r.change.test_count, cell: (r) => defined("structure", `${formatCount(r.change.base_count)} → ${formatCount(r.change.test_count)}`) },
    { head: "a step", key: (r) => r.change.test_ns ?? 0, cell: (r) => (r.change.base_ns === undefined ? "" : defined("structure", `${formatTime(r.change.base_ns)} → ${formatTime(r.change.test_ns)}`)) },
  ];
  body.append(lead("Compared along the tree of calls, not by name alone."), table({ columns, rows, sort: [-1, "descending"], limit: 24, label: "Changes of structure" }));
}

// Orders and variations as changes: the same columns tell them.
function reordered(order) {
  return { kind: "launches", name: order.base, replaced_by: order.test, within: order.parent ?? "a step", base_count: order.base_count, test_count: order.test_count };
}

function varying(one) {
  return { kind: one.kind, name: `${one.name} (runs of ${one.side})`, within: one.within, base_count: one.least, test_count: one.most };
}

function within({ change }) {
  if (!change.modules?.length) return change.within ?? "";
  return h("span", {}, change.within ?? "", h("span", { class: "second" }, change.modules.join(", ")));
}
