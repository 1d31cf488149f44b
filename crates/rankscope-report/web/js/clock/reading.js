// What every shown node says at the round nearest to a time.
import { exact, signed } from "../pure/format.js";
import { isBounded, nearest } from "../pure/series.js";
import { tip } from "../tip.js";

const READ_MOST = 16;

export function reading(shown, t) {
  const [first] = shown;
  const title = `round ${first.round[nearest(first.x, t)]} · ${t.toFixed(1)} s`;
  const more = shown.length > READ_MOST ? [`and ${shown.length - READ_MOST} more`] : [];
  return [...tip.rows(title, [["", "offset", "off its line", "bound", ""], ...shown.slice(0, READ_MOST).map((node) => nodeReading(node, t))]), ...more];
}

function nodeReading(node, t) {
  const k = nearest(node.x, t);
  if (Math.abs(node.x[k] - t) > node.pause / 2) return [`node ${node.node}`, "not placed"];
  const bounds = isBounded(node, k) ? `${signed(node.lo[k])} to ${signed(node.hi[k])}` : "no bound";
  const marks = [node.stepAt.has(k) && "step", node.degradedAt.has(k) && "degraded"].filter(Boolean).join(", ");
  return [`node ${node.node}`, exact(node.offset[k]), signed(node.stray[k]), bounds, marks];
}

// What is known of a node in a round, of a node in its last round, or of a round on every node.
export function nodeWords(nodes, { node, round }) {
  const one = nodes.find((known) => known.node === node);
  if (node !== null && !one) return ["no edge led to this node"];
  if (!one) return [];
  const k = round === null ? one.round.length - 1 : one.round.indexOf(round);
  if (k < 0) return ["not placed in this round"];
  const bounds = isBounded(one, k) ? `bound ${signed(one.lo[k])} to ${signed(one.hi[k])}` : "no bound";
  return [`${round === null ? "in its last round, " : ""}offset ${exact(one.offset[k])}`, `${signed(one.stray[k])} off its own line`, bounds];
}
