// A call tree that opens and closes: a treegrid, whose rows the arrow keys go along.

import { element, time } from "./dom.js";
import { closedAtFirst, hasBelow, led, restName, rowsOf, seen } from "./tree_rows.js";

/** @typedef {import("./tree_rows.js").Row} Row */

/** @type {Record<string, { head: string, tip: string, text: (row: Row) => string }>} */
const COLUMNS = {
  calls: { head: "calls", tip: "", text: (row) => row.calls.toLocaleString("en") },
  total: { head: "total", tip: "Time on the host with all that it called", text: (row) => time(row.total_ns) },
  self: { head: "self", tip: "Time on the host that is no other call's", text: (row) => (row.isRest ? "" : time(row.self_ns)) },
  device: { head: "device", tip: "Kernels, copies and fills that were launched in it; what runs at the same time counts twice", text: (row) => (row.launched > 0 ? time(row.device_ns) : "") },
  launched: { head: "launched", tip: "How many kernels, copies and fills", text: (row) => (row.launched > 0 ? row.launched.toLocaleString("en") : "") },
};

/**
 * The tree of `nodes` under a caption. `link` has the address of another tree for a name, or none.
 * @param {string} caption @param {import("./tree_rows.js").Node[]} nodes @param {string[]} columns @param {(name: string) => string | null} link
 */
export function treegrid(caption, nodes, columns, link) {
  const rows = rowsOf(nodes);
  const closed = closedAtFirst(rows);
  const whole = Math.max(rows[0].total_ns, 1);
  const grid = element("table", "", { role: "treegrid", class: "tree", "aria-label": caption });
  const head = element("tr", "", { role: "row" });
  head.append(element("th", "name", { role: "columnheader", scope: "col" }), ...columns.map((key) => element("th", COLUMNS[key].head, { role: "columnheader", scope: "col", class: key, title: COLUMNS[key].tip })));
  const top = element("thead", "", { role: "rowgroup" });
  const body = element("tbody", "", { role: "rowgroup" });
  top.append(head);
  grid.append(element("caption", caption), top, body);
  /** @type {Map<number, HTMLElement>} */
  let drawn = new Map();
  let current = 0;

  /** @param {number} at @param {boolean} [focus] */
  function stand(at, focus = true) {
    drawn.get(current)?.setAttribute("tabindex", "-1");
    current = at;
    drawn.get(at)?.setAttribute("tabindex", "0");
    if (focus) drawn.get(at)?.focus();
  }

  /** @param {number} at */
  function turn(at) {
    if (!closed.delete(at)) closed.add(at);
    draw();
    stand(at);
  }

  function draw() {
    const made = seen(rows, closed).map((at) => [at, rowElement(at)]);
    drawn = new Map(/** @type {[number, HTMLElement][]} */ (made));
    body.replaceChildren(...drawn.values());
  }

  /** @param {number} at */
  function rowElement(at) {
    const row = rows[at];
    const line = element("tr", "", { role: "row", "aria-level": String(row.level + 1), tabindex: at === current ? "0" : "-1" });
    if (hasBelow(rows, at)) line.setAttribute("aria-expanded", String(!closed.has(at)));
    line.append(nameCell(at), ...columns.map((key) => element("td", COLUMNS[key].text(row), { role: "gridcell", class: key })));
    line.addEventListener("focus", () => stand(at, false));
    return line;
  }

  /** @param {number} at */
  function nameCell(at) {
    const row = rows[at];
    const cell = element("td", "", { role: "gridcell", class: "name" });
    // Deep levels stand no further in than a screen is wide.
    cell.style.paddingInlineStart = `${Math.min(row.level, 24) * 0.8}rem`;
    const turner = element("span", hasBelow(rows, at) ? (closed.has(at) ? "▸" : "▾") : "", { class: "turn", "aria-hidden": "true" });
    turner.addEventListener("click", () => hasBelow(rows, at) && turn(at));
    const address = row.isRest || at === 0 ? null : link(row.name);
    const name = row.isRest ? element("i", restName(row)) : address === null ? element("bdi", row.name) : element("a", row.name, { href: address, tabindex: "-1" });
    if (!row.isRest) name.title = row.name;
    const bar = element("span", "", { class: "part", "aria-hidden": "true" });
    bar.style.width = `${(row.total_ns / whole) * 100}%`;
    const line = element("div", "", { class: "line" });
    line.append(turner, name, ...(row.kind && row.kind !== "operator" ? [element("small", row.kind)] : []));
    cell.append(line, bar);
    return cell;
  }

  grid.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter") {
      drawn.get(current)?.querySelector("a")?.click();
      return;
    }
    const way = led(event.key, current, rows, closed);
    if (way === null) return;
    event.preventDefault();
    if (way.opens !== undefined || way.closes !== undefined) turn(way.to);
    else stand(way.to);
  });
  draw();
  return grid;
}
