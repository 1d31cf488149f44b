// What was added, removed, replaced, or is there another number of times.
import { empty, h, lead } from "../dom.js";
import { table } from "../table.js";
import { formatCount, formatTime } from "../pure/format.js";
import { defined } from "./defined.js";

const SORTS = [["swapped", "replaced"], ["new", "new"], ["gone", "gone"], ["count_changed", "other count"]];

export function drawStructure({ pair }, body) {
  const rows = SORTS.flatMap(([key, sort]) => (pair.structure[key] ?? []).map((change) => ({ sort, change })));
  if (rows.length === 0) return body.append(empty("Nothing was added, removed or replaced, as far as both sides have tables of operators, kernels and collectives."));
  const columns = [
    { head: "change", text: true, key: (r) => r.sort, cell: (r) => h("b", {}, r.sort) },
    { head: "kind", text: true, key: (r) => r.change.kind, cell: (r) => r.change.kind.replaceAll("_", " ") },
    { head: "what", text: true, class: "name", key: (r) => r.change.name, cell: (r) => (r.change.replaced_by ? h("span", {}, r.change.name, h("span", { class: "second" }, `→ ${r.change.replaced_by}`)) : r.change.name) },
    { head: "within", text: true, class: "name", key: (r) => r.change.within ?? "", cell: (r) => r.change.within ?? "" },
    { head: "count", key: (r) => r.change.test_count, cell: (r) => defined("structure", `${formatCount(r.change.base_count)} → ${formatCount(r.change.test_count)}`) },
    { head: "a step", key: (r) => r.change.test_ns, cell: (r) => defined("structure", `${formatTime(r.change.base_ns)} → ${formatTime(r.change.test_ns)}`) },
  ];
  body.append(lead("Compared along the tree of calls, not by name alone."), table({ columns, rows, sort: [-1, "descending"], limit: 24, label: "Changes of structure" }));
}
