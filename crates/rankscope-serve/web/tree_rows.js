// A call tree as rows: which are seen, where a key leads, what is said of it. Nothing here knows of a page.

/**
 * @typedef {{ calls: number, total_ns: number, launched: number, device_ns: number }} LeftOut
 * @typedef {{ level: number, name: string, kind: string, calls: number, total_ns: number, self_ns: number, launched: number, device_ns: number, left_out: LeftOut }} Node
 * @typedef {Node & { parent: number, last: number, isRest: boolean }} Row
 * @typedef {{ rank: number, step: number | null, operator: string, instances: number, nested: number, callers: Node[], callees: Node[] }} Tree
 * @typedef {{ operator: string, rank: number | null, step: number | null }} Wanted
 */

const NOTHING = { calls: 0, total_ns: 0, launched: 0, device_ns: 0 };

/**
 * Nodes, parents first, as rows that know the row they are below and the last one below them. What was left out below a node is its last row.
 * @param {Node[]} nodes @returns {Row[]}
 */
export function rowsOf(nodes) {
  /** @type {Row[]} */
  const rows = [];
  /** @type {number[]} */
  const open = [];
  const close = () => {
    const at = /** @type {number} */ (open.pop());
    const { level, left_out: rest } = rows[at];
    if (rest.calls > 0) {
      rows.push({ ...rest, level: level + 1, name: "", kind: "", self_ns: 0, left_out: NOTHING, parent: at, last: rows.length, isRest: true });
    }
    rows[at].last = rows.length - 1;
  };
  for (const node of nodes) {
    while (open.length > 0 && rows[open[open.length - 1]].level >= node.level) close();
    rows.push({ ...node, parent: open.length > 0 ? open[open.length - 1] : -1, last: rows.length, isRest: false });
    open.push(rows.length - 1);
  }
  while (open.length > 0) close();
  return rows;
}

/** Whether a row has others below it. @param {Row[]} rows @param {number} at */
export const hasBelow = (rows, at) => rows[at].last > at;

/** Rows that are seen while those in `closed` are. @param {Row[]} rows @param {Set<number>} closed */
export function seen(rows, closed) {
  const places = [];
  for (let at = 0; at < rows.length; at += 1) {
    places.push(at);
    if (closed.has(at)) at = rows[at].last;
  }
  return places;
}

/** What a row weighs: the longer of its times on the host and on devices. @param {Row} row */
const weight = (row) => Math.max(row.total_ns, row.device_ns);

/** Rows that are closed at first: those that are less than a twentieth of the whole. @param {Row[]} rows */
export function closedAtFirst(rows) {
  const least = rows.length > 0 ? weight(rows[0]) / 20 : 0;
  return new Set([...rows.keys()].filter((at) => at > 0 && hasBelow(rows, at) && weight(rows[at]) < least));
}

/**
 * Where `key` leads from the row `at`, as in any tree: to which row, and which one it opens or closes; null where it leads nowhere.
 * @param {string} key @param {number} at @param {Row[]} rows @param {Set<number>} closed
 * @returns {{ to: number, opens?: number, closes?: number } | null}
 */
export function led(key, at, rows, closed) {
  const places = seen(rows, closed);
  const place = places.indexOf(at);
  const to = (/** @type {number} */ next) => ({ to: places[Math.min(Math.max(next, 0), places.length - 1)] });
  const isOpen = hasBelow(rows, at) && !closed.has(at);
  switch (key) {
    case "ArrowDown": return to(place + 1);
    case "ArrowUp": return to(place - 1);
    case "Home": return to(0);
    case "End": return to(places.length - 1);
    case "ArrowRight": return isOpen ? to(place + 1) : hasBelow(rows, at) ? { to: at, opens: at } : { to: at };
    case "ArrowLeft": return isOpen ? { to: at, closes: at } : { to: Math.max(rows[at].parent, 0) };
    default: return null;
  }
}

/** @param {number} n @param {string} word */
const counted = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

/** What is known of a tree in words; `time` writes times. @param {Tree} tree @param {(ns: number) => string} time */
export function inWords(tree, time) {
  const { total_ns: total, self_ns: own, device_ns: device, launched } = tree.callees[0];
  const where = tree.step === null ? `rank ${tree.rank}` : `rank ${tree.rank}, step ${tree.step}`;
  const work = launched === 1 ? `launched a kernel or a copy of ${time(device)}` : launched > 0 ? `launched ${counted(launched, "kernel")} and copies of ${time(device)} in all` : "launched nothing on a device";
  const nested = tree.nested > 0 ? ` Inside of those it was called ${counted(tree.nested, "time")} more: rows of the tree, whose time is counted once.` : "";
  return `${where}: ${counted(tree.instances, "call")} took ${time(total)}, ${time(own)} of it themselves, and ${work}.${nested}`;
}

/** What a row that stands for others is called. @param {LeftOut} rest */
export const restName = (rest) => `${counted(rest.calls, "shorter or deeper call")}, not listed`;

/** The fragment of an address that asks for a tree. @param {Wanted} wanted */
export function fragmentOf({ operator, rank, step }) {
  const pairs = [["operator", operator], ["rank", rank], ["step", step]].filter(([, value]) => value !== null);
  return `#${pairs.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join("&")}`;
}

/** The tree that a fragment asks for; null where it asks for none. @param {string} fragment @returns {Wanted | null} */
export function wantedIn(fragment) {
  const pairs = new URLSearchParams(fragment.replace(/^#/, "").replaceAll("+", "%2B"));
  const number = (/** @type {string} */ key) => (/^-?\d{1,15}$/.test(pairs.get(key) ?? "") ? Number(pairs.get(key)) : null);
  const operator = pairs.get("operator");
  return operator ? { operator, rank: number("rank"), step: number("step") } : null;
}

/** Letters of a name in an address, encoded: the server takes no longer addresses. */
const NAME_MAX = 3500;

/** Whether a tree of this name can be asked for. @param {string} name */
export function isAskable(name) {
  try {
    return name !== "" && encodeURIComponent(name).length <= NAME_MAX;
  } catch {
    // Half of a pair of surrogates has no encoding.
    return false;
  }
}
