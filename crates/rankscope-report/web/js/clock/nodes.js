// Every node in its last round, those that were never placed as well.
import { orAbsent, section } from "../dom.js";
import { pick } from "../pick.js";
import { NBSP, exact, formatCount, formatTime, plural, withMinus } from "../pure/format.js";
import { table } from "../table.js";

const NEVER = "no edge led to this node";

const lastIn = (list) => (list.length > 0 ? list[list.length - 1] : null);
const half = ({ lo, hi }) => (lastIn(hi) === null || lastIn(lo) === null ? null : (lastIn(hi) - lastIn(lo)) / 2);
const drift = (ppm) => `${withMinus(ppm.toFixed(4))}${NBSP}ppm`;
const roundsOf = (n) => (n > 0 ? plural(n, "round") : "never");

export function drawNodes(nodes) {
  section("nodes").body.append(table({
    label: "Clocks of nodes in their last round",
    rows: nodes,
    columns: [
      { head: "Node", text: true, key: (node) => node.node, cell: (node) => pick({ node: node.node }, String(node.node)) },
      { head: "Offset, last round", key: (node) => lastIn(node.offset), cell: (node) => orAbsent(lastIn(node.offset), exact, NEVER) },
      { head: "Bound, ±", key: half, cell: (node) => orAbsent(half(node), formatTime, "nothing bounds it") },
      { head: "Drift", key: (node) => lastIn(node.ppm), cell: (node) => orAbsent(lastIn(node.ppm), drift, NEVER) },
      { head: "Residual", key: (node) => lastIn(node.residual), cell: (node) => orAbsent(lastIn(node.residual), formatTime, NEVER) },
      { head: "Unreachable", key: (node) => node.unreachable, cell: (node) => roundsOf(node.unreachable) },
      { head: "Degraded", key: (node) => node.degraded.length, cell: (node) => roundsOf(node.degraded.length) },
      { head: "Steps", key: (node) => node.steps.length, cell: (node) => formatCount(node.steps.length) },
    ],
    sort: [0, "ascending"],
  }));
}
