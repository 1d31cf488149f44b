// The tables that were asked for, one at a time. The page has the first rows of each; `rankscope report TABLE` prints them all.
import { searchBox, select } from "../controls.js";
import { absent, h, lead, note, section } from "../dom.js";
import { formatBytes, formatCount, formatFigure, formatRate, formatShare, formatTime, plural } from "../pure/format.js";
import { servedRun, treeAddress } from "../pure/served_run.js";
import { table } from "../table.js";

const TABLE_FORMATS = { time: formatTime, bytes: formatBytes, rate: formatRate, share: (part) => formatShare(part, 1), number: formatFigure };

export function drawTables(doc) {
  // A report whose tables nobody asked for has no such section.
  if (doc.page_tables.length === 0) return;
  const { body, bar } = section("tables");
  const box = h("div");
  const draw = (index) => box.replaceChildren(...drawTable(doc.page_tables[index]));
  bar.append(select("Table", doc.page_tables.map((one, i) => [i, one.title]), draw));
  body.append(box);
  draw(0);
}

function drawTable(one) {
  const drawn = table({ label: one.title, rows: one.rows, limit: 20, columns: one.columns.map((column, at) => pageColumn(column, at, treesOf(one, column.key))), sort: [-1, "descending"] });
  const search = searchBox(`Search ${one.title}`, (typed) => drawn.filter(typed === "" ? null : (row) => hasText(row, typed)));
  return [lead(one.about), search, drawn, ...notInPage(one)];
}

const hasText = (row, typed) => row.some((value) => typeof value === "string" && value.toLowerCase().includes(typed.toLowerCase()));

// Columns whose names are operators, by table: where the page is served, each leads to its call tree.
const OPERATORS = { ops_summary: "name", ops_across_ranks: "name", unified_perf_summary: "name", kernel_summary: "parent_op" };

function treesOf({ name, columns }, key) {
  if (OPERATORS[name] !== key) return () => null;
  const [run, rank] = [servedRun(location.href), columns.findIndex((column) => column.key === "rank")];
  return (row, operator) => treeAddress(run, operator, row[rank] ?? null);
}

function pageColumn({ key, head, kind }, at, tree) {
  const value = (row) => row[at] ?? null;
  const shared = { head, tip: key, csv: key, key: (row) => (Array.isArray(value(row)) ? value(row).join(" ") : value(row)) };
  if (kind === "name") return { ...shared, text: true, class: "mono", cell: (row) => (value(row) === null ? absent("not recorded") : clamped(value(row), tree(row, value(row)))) };
  if (kind === "text") return { ...shared, text: true, cell: (row) => (value(row) === null ? absent("not recorded") : inWords(value(row))) };
  return { ...shared, cell: (row) => (value(row) === null ? absent("not known") : tableFigure(kind, value(row))) };
}

const clamped = (value, href) => h(href === null ? "span" : "a", { class: "clamp", href, title: href === null ? inWords(value) : `${inWords(value)}: its call tree` }, inWords(value));
const inWords = (value) => (Array.isArray(value) ? value.join(" > ") : String(value));
const tableFigure = (kind, value) => (typeof value === "number" ? TABLE_FORMATS[kind](value) : inWords(value));

// What is not in the page, and where it is.
function notInPage({ name, rows, total, more_columns: more }) {
  const missing = [];
  if (rows.length < total) missing.push(`${formatCount(rows.length)} of ${plural(total, "row")}`);
  if (more.length > 0) missing.push(`not the columns ${more.join(", ")}`);
  if (missing.length === 0) return [];
  return [note(`In this page: ${missing.join("; ")}.`), h("p", { class: "note" }, "All of it: ", h("code", {}, `rankscope report ${name} TRACES --csv`))];
}
