// Tables that sort by a click on a header, and show the first rows until asked for all.
import { copyButton } from "./controls.js";
import { empty, h } from "./dom.js";
import { csvText } from "./pure/csv.js";
import { formatCount } from "./pure/format.js";
import { ordered } from "./pure/order.js";

// columns: { head, text, key(row), cell(row), tip, first: "ascending" | "descending" }; absent keys sort last either way. Sorted by column -1 the
// rows keep the order they are given in. Columns that have a name as `csv` can be copied under it. The table's `filter` takes a condition on rows, or null for all of them.
export function table({ columns, rows, sort: [column, direction], limit = 32, label }) {
  let ascending = direction === "ascending";
  let all = rows.length <= limit + 4;
  const heads = columns.map((c, i) => headCell(c, () => sortBy(i)));
  const body = h("tbody");
  let wanted = rows;
  const more = h("button", { type: "button", class: "plain", onclick: () => { all = true; draw(); } });

  function sortBy(i) {
    ascending = i === column ? !ascending : columns[i].text || columns[i].first === "ascending";
    column = i;
    draw();
  }

  const sorted = () => (column < 0 ? wanted : ordered(wanted, columns[column].key, ascending));

  function draw() {
    heads.forEach((head, i) => (i === column ? head.setAttribute("aria-sort", ascending ? "ascending" : "descending") : head.removeAttribute("aria-sort")));
    const shown = sorted().slice(0, all ? wanted.length : limit);
    body.replaceChildren(...shown.map((row) => h("tr", {}, ...columns.map((c) => bodyCell(c, row)))));
    more.hidden = shown.length === wanted.length;
    more.textContent = `Show all ${formatCount(wanted.length)} (${formatCount(shown.length)} shown)`;
    none.hidden = wanted.length > 0;
  }

  const none = empty("No row matches.");
  draw();
  const element = h("table", { "aria-label": label }, h("thead", {}, h("tr", {}, ...heads)), body);
  const copies = columns.some((c) => c.csv) ? copyButton("Copy as CSV", () => csvText(columns, sorted()), "All rows, in this order") : null;
  const box = h("div", {}, h("div", { class: "scroll" }, element), none, h("div", { class: "below-table" }, more, copies));
  box.filter = (condition) => {
    wanted = condition === null ? rows : rows.filter(condition);
    draw();
  };
  return box;
}

function headCell(c, sort) {
  const content = c.key ? h("button", { type: "button", onclick: sort }, c.head) : c.head;
  if (!c.head) return h("td", { class: "text" });
  return h("th", { scope: "col", class: c.text ? "text" : null, title: c.tip }, content);
}

const bodyCell = (c, row) => h("td", { class: [c.text && "text", c.class].filter(Boolean).join(" ") || null }, c.cell(row));
