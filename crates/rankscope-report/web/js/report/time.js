// Where the time goes: one stacked bar per rank, with the figures beside it.
import { segments } from "../controls.js";
import { absent, h, lead, section, swatches } from "../dom.js";
import { foldedTable, rankOf } from "../fold.js";
import { columnUnit, formatShare, formatTime } from "../pure/format.js";
import { extent } from "../pure/scale.js";
import { table } from "../table.js";
import { tip } from "../tip.js";
import { tilesOf } from "./tiles.js";

const CLASSES = [
  ["computation", "Computation", "compute"],
  ["exposed_comm", "Exposed comm", "comm"],
  ["exposed_memcpy", "Exposed memcpy", "memcpy"],
  ["idle", "Idle", "idle"],
];

export function drawTime(doc) {
  const { body, bar } = section("time");
  const box = h("div");
  const draw = (mode) => box.replaceChildren(foldedTable(doc.ranks, doc.alike?.time, (ranks) => timeTable(doc, ranks, mode === "percent")));
  bar.append(swatches(CLASSES.map(([, text, css]) => ({ css, text }))), h("span", { class: "spacer" }), segments("Unit", [["percent", "Percent"], ["absolute", "Absolute"]], "percent", draw));
  body.append(tilesOf(doc), lead("Communication is exposed where no computation overlaps it, copies where neither computation nor communication does. The four add up to the rank's total."), box);
  draw("percent");
}

function timeTable(doc, ranks, percent) {
  const [, longest] = extent(doc.ranks.map((rank) => rank.time_ns.total));
  const unit = columnUnit(longest);
  const figure = ([key, name]) => ({
    head: `${name}${percent ? "" : `, ${unit.unit}`}`,
    key: (rank) => (rank.time_ns.total > 0 ? (percent ? rank.time_ns[key] / rank.time_ns.total : rank.time_ns[key]) : null),
    cell: ({ time_ns: time }) => (time.total <= 0 ? absent("this rank shows no time") : percent ? formatShare(time[key], time.total) : unit.text(time[key])),
  });
  return table({
    label: "Time by class of each rank",
    rows: ranks,
    columns: [
      { head: "Rank", text: true, first: "ascending", key: (rank) => rank.rank, cell: (rank) => rankLabel(rank, doc) },
      { head: "", text: true, class: "plot", cell: (rank) => stack(rank, percent ? rank.time_ns.total : longest) },
      { head: `Total, ${unit.unit}`, key: (rank) => rank.time_ns.total, cell: (rank) => unit.text(rank.time_ns.total) },
      ...CLASSES.map(figure),
    ],
    sort: [0, "ascending"],
  });
}

// In a run with device work, ranks without it stand out: their times are not comparable.
function rankLabel(rank, doc) {
  const odd = doc.device_activity && rank.accounting === "host";
  return h("span", {}, rankOf(rank), odd ? h("span", { class: "chip", title: "No device activity in this rank's trace" }, "host times") : null);
}

function stack(rank, whole) {
  const time = rank.time_ns;
  if (time.total <= 0) return h("div", { class: "stack" });
  const bar = h("div", { class: "stack", "aria-hidden": "true" },
    ...CLASSES.filter(([key]) => time[key] > 0).map(([key, , css]) => h("span", { class: css, style: { flex: `0 1 ${time[key] / whole * 100}%` } })));
  const pairs = CLASSES.map(([key, name]) => [name, formatTime(time[key]), formatShare(time[key], time.total)]);
  pairs.push(["Total", formatTime(time.total)], ["All communication", formatTime(time.total_comm)], ["All copies", formatTime(time.total_memcpy)]);
  return tip.on(bar, () => tip.rows(`Rank ${rank.rank}${rank.host ? ` on ${rank.host}` : ""}`, pairs));
}
