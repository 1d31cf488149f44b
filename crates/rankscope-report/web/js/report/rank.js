// One rank at a time: what ran longest there, and what it copied.
import { searchBox, select } from "../controls.js";
import { absent, empty, h, lead, levelBar, section } from "../dom.js";
import { cuts } from "../given.js";
import { formatBytes, formatCount, formatTime } from "../pure/format.js";
import { extent } from "../pure/scale.js";
import { servedRun, treeAddress } from "../pure/served_run.js";
import { selection } from "../selection.js";
import { table } from "../table.js";

const KERNEL_CLASSES = { compute: "compute", communication: "comm", memcpy: "memcpy", memset: "memcpy" };
const DIRECTIONS = { host_to_device: "Host to device", device_to_host: "Device to host", device_to_device: "Within a device", peer_to_peer: "Between devices", other: "Direction unknown", memset: "Fills" };

export function drawRank(doc) {
  const { body, bar } = section("rank");
  const box = h("div");
  const draw = (index) => box.replaceChildren(...rankDetail(doc.ranks[index], doc.kernels ?? []));
  const choice = select("Rank", doc.ranks.map((rank, i) => [i, rank.host ? `${rank.rank} on ${rank.host}` : `${rank.rank}`]), (index) => selection.choose({ rank: doc.ranks[index].rank }));
  bar.append(choice);
  body.append(box);
  draw(0);
  selection.watch(({ rank }) => {
    const index = doc.ranks.findIndex((one) => one.rank === rank);
    if (index < 0) return;
    choice.querySelector("select").value = String(index);
    draw(index);
  });
}

// Of jobs too large to list kernels for each rank, `ofJob` has those of all together.
function rankDetail(rank, ofJob) {
  const work = rank.accounting === "host" ? "operators" : "kernels and copies";
  const [kernels, whose] = rank.kernels.length > 0 ? [rank.kernels, `rank ${rank.rank}`] : [ofJob, "all ranks together"];
  const parts = kernels.length > 0 ? [kernelLead(kernels, whose, work), ...searched(kernelTable(kernels, whose, treesOfHost(rank)), `Search ${work} of ${whose}`)] : [empty(`No ${work} were found in the trace of rank ${rank.rank}.`)];
  if (rank.copies.length > 0) parts.push(h("h3", {}, "Copies and fills"), copyTable(rank));
  return parts;
}

// A table of names behind a search.
const searched = (drawn, label) => [searchBox(label, (typed) => drawn.filter(typed === "" ? null : (kernel) => kernel.name.toLowerCase().includes(typed.toLowerCase()))), drawn];

function kernelLead(kernels, whose, work) {
  const cut = cuts.kernels_per_rank > kernels.length ? ` The ${kernels.length} longest are in this page, more in report.json.` : "";
  return lead(`The ${work} of ${whose} by name. Durations are summed, so work that runs at the same time counts twice.${cut}`);
}

// Where the page is served, operators of a host lead to their call trees.
function treesOfHost({ accounting, rank }) {
  const run = accounting === "host" ? servedRun(location.href) : null;
  return (name) => treeAddress(run, name, rank);
}

function kernelTable(kernels, whose, tree) {
  const [, most] = extent(kernels.map((k) => k.total_ns));
  const css = (k) => KERNEL_CLASSES[k.class] ?? "idle";
  return table({
    label: `What ran longest on ${whose}`,
    rows: kernels,
    limit: 10,
    columns: [
      { head: "Name", csv: "name", text: true, class: "mono", key: (k) => k.name, cell: (k) => h(tree(k.name) === null ? "span" : "a", { class: "clamp", href: tree(k.name), title: k.name }, k.name) },
      { head: "Class", csv: "class", text: true, key: (k) => k.class, cell: (k) => h("span", { style: { whiteSpace: "nowrap" } }, h("span", { class: `swatch ${css(k)}` }), k.class) },
      { head: "Count", csv: "count", key: (k) => k.count, cell: (k) => formatCount(k.count) },
      { head: "Time", csv: "total_ns", key: (k) => k.total_ns, cell: (k) => formatTime(k.total_ns) },
      { head: "", text: true, class: "plot narrow", cell: (k) => levelBar(k.total_ns, most, css(k)) },
    ],
    sort: [3, "descending"],
  });
}

function copyTable(rank) {
  return table({
    label: `Copies of rank ${rank.rank}`,
    rows: rank.copies.map((copied) => ({ ...copied, name: DIRECTIONS[copied.direction] ?? copied.direction })),
    columns: [
      { head: "Direction", text: true, key: (c) => c.name, cell: (c) => c.name },
      { head: "Count", key: (c) => c.count, cell: (c) => formatCount(c.count) },
      { head: "Time", tip: "Union: overlapping copies count once", key: (c) => c.total_ns, cell: (c) => formatTime(c.total_ns) },
      { head: "Bytes", key: (c) => c.bytes, cell: (c) => (c.bytes > 0 ? formatBytes(c.bytes) : absent("the trace does not tell the bytes")) },
    ],
    sort: [2, "descending"],
  });
}
