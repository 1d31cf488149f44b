// Operators of a rank, and the tree of one: who calls it and what it calls. Both are read from the trace when asked for.

import { asked, byId, element, fill, time } from "./dom.js";
import { treegrid } from "./tree.js";
import { fragmentOf, inWords, isAskable, wantedIn } from "./tree_rows.js";

/** A link to the tree of a name, or the name where there can be none. @param {string} operator @param {number} rank @param {number | null} step */
export function treeLink(operator, rank, step) {
  return isAskable(operator) ? element("a", operator, { href: fragmentOf({ operator, rank, step }), title: "who calls it, and what it calls" }) : element("bdi", operator);
}

/** The rows of operators. @param {any} said */
export function drawOperators(said) {
  fill("operator-rows", said.operators.map((row) => [
    treeLink(row.name, said.rank, said.step), row.kind, row.calls.toLocaleString("en"), time(row.total_ns), time(row.self_ns), row.launched > 0 ? time(row.device_ns) : "",
  ]));
  const of = said.step === null ? "the trace" : `step ${said.step}`;
  return said.count === 0 ? `Nothing like that is called in ${of} on rank ${said.rank}.` : `${said.operators.length} of ${said.count} names that are called in ${of} on rank ${said.rank}, those first that take longest.`;
}

/** What is being read, so that it can be given up. */
let reading = new AbortController();

/** Asks for the tree that the address names, and shows it. @param {string} api @param {number} rank */
async function show(api, rank) {
  const wanted = wantedIn(location.hash);
  if (wanted === null) return;
  reading.abort();
  reading = new AbortController();
  const { signal } = reading;
  const [said, trees, cancel] = [byId("tree-said"), byId("trees"), byId("tree-cancel")];
  const form = /** @type {HTMLFormElement} */ (byId("tree"));
  const full = { ...wanted, rank: wanted.rank ?? rank };
  for (const [key, value] of Object.entries(full)) /** @type {HTMLInputElement} */ (form.elements.namedItem(key)).value = value === null ? "" : String(value);
  trees.replaceChildren();
  said.textContent = "Reading the trace.";
  cancel.hidden = false;
  byId("tree-heading").scrollIntoView();
  try {
    const pairs = Object.entries(full).filter(([, value]) => value !== null).map(([key, value]) => [key, String(value)]);
    const tree = await asked(`${api}/tree?${new URLSearchParams(pairs)}`, signal);
    const link = (/** @type {string} */ name) => (isAskable(name) ? fragmentOf({ ...full, operator: name }) : null);
    const callers = tree.callers.length > 1 ? [treegrid("What calls it", tree.callers, ["calls", "total", "device"], link)] : [element("p", "Nothing that is recorded calls it.")];
    trees.replaceChildren(treegrid("What it calls", tree.callees, ["calls", "total", "self", "device", "launched"], link), ...callers);
    said.textContent = inWords(tree, time);
  } catch (error) {
    if (signal.aborted && reading.signal !== signal) return;
    said.textContent = signal.aborted ? "Given up. Show asks again." : /** @type {Error} */ (error).message;
  }
  cancel.hidden = true;
}

/** Follows the address to trees; `rank` is the one where it names none. @param {string} api @param {number} rank */
export function followTrees(api, rank) {
  const form = /** @type {HTMLFormElement} */ (byId("tree"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = (/** @type {string} */ key) => /** @type {HTMLInputElement} */ (form.elements.namedItem(key)).value;
    const number = (/** @type {string} */ key) => (value(key) === "" ? null : Number(value(key)));
    const fragment = fragmentOf({ operator: value("operator"), rank: number("rank"), step: number("step") });
    if (fragment === location.hash) show(api, rank);
    else location.hash = fragment;
  });
  byId("tree-cancel").addEventListener("click", () => reading.abort());
  addEventListener("hashchange", () => show(api, rank));
  show(api, rank);
}
