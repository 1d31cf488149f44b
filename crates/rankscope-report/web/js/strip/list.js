// What a strip shows, in words and as a table.
import { h, note } from "../dom.js";
import { pickRank } from "../pick.js";
import { formatTime } from "../pure/format.js";
import { table } from "../table.js";

const longestWait = ({ instance }) => Math.max(0, ...instance.wait_ns);

// Of the pieces of a view, `where` says of what.
export function listOf({ pieces }, where, label) {
  const rows = pieces.filter((piece) => piece.rank === piece.lastRank);
  if (rows.length === 0) return [note(`No matched collective${where} is in the page.`)];
  const longest = rows.reduce((one, other) => (longestWait(other) > longestWait(one) ? other : one));
  return [
    note(`Longest wait${where}: ${formatTime(longestWait(longest))} for rank ${longest.lastRank}, ${longest.name.slice(0, 60)}.`),
    h("details", {}, h("summary", {}, `${label}, as a table`), table({
      label,
      rows,
      limit: 16,
      columns: [
        { head: "Collective", text: true, class: "name", key: (one) => one.name, cell: (one) => h("span", { class: "clamp", title: one.name }, one.name) },
        { head: "Came last", first: "ascending", key: (one) => one.lastRank, cell: (one) => pickRank(one.lastRank) },
        { head: "Longest wait", key: longestWait, cell: (one) => formatTime(longestWait(one)) },
        { head: "Transfer", key: (one) => one.instance.transfer_ns, cell: (one) => formatTime(one.instance.transfer_ns) },
        { head: "End skew", key: (one) => one.instance.end_skew_ns, cell: (one) => formatTime(one.instance.end_skew_ns) },
      ],
      sort: [-1, "descending"],
    })),
  ];
}
