// The critical path: what each step had to wait for, by class, and what is longest on it.
import { select } from "../controls.js";
import { empty, h, lead, levelBar, section, swatches } from "../dom.js";
import { cuts } from "../given.js";
import { formatCount, formatTime, plural } from "../pure/format.js";
import { extent } from "../pure/scale.js";
import { pick, pickRank } from "../pick.js";
import { selection } from "../selection.js";
import { table } from "../table.js";
import { tip } from "../tip.js";

const PATH_CLASSES = [
  ["compute", "Compute", "compute"],
  ["communication", "Communication", "comm"],
  ["copy", "Copies", "memcpy"],
  ["host", "Host", "on-host"],
  ["launch", "Launch", "launch"],
  ["device_gap", "Device gap", "idle"],
  ["unknown", "Not recorded", "idle"],
  ["clock", "Clocks disagree", "idle"],
];

export function drawPath(doc) {
  const { body, bar } = section("path");
  const paths = (doc.critical_path ?? []).filter((path) => path.length_ns > 0);
  if (paths.length === 0) return body.append(empty("There is no path to show: answers were left out, or the traces do not tell what waited for what."));
  const seen = PATH_CLASSES.filter(([key]) => paths.some((path) => path.by_class[key] > 0));
  const cut = cuts.paths > paths.length ? ` The longest ${formatCount(paths.length)} of ${plural(cuts.paths, "step")} are here, the others in report.json.` : "";
  bar.append(swatches(seen.filter(([, , css], at) => seen.findIndex(([, , other]) => other === css) === at).map(([, text, css]) => ({ css, text }))));
  body.append(lead(`The chain of work, across ranks, that a step could not be shorter than: making anything on it shorter makes the step shorter.${cut}`), stepTable(paths, seen));
  const longest = paths.reduce((one, other) => (other.length_ns > one.length_ns ? other : one));
  const box = h("div");
  const draw = (at) => box.replaceChildren(topTable(paths[at]), ...slackTable(paths[at]));
  const order = [longest, ...paths.filter((path) => path !== longest)];
  const take = (at) => (paths[at].step === null ? draw(at) : selection.choose({ step: paths[at].step }));
  const choice = select("Of", order.map((path) => [paths.indexOf(path), named(path)]), take);
  body.append(h("div", { class: "bar below" }, h("h3", {}, "What is longest on it"), choice), box);
  draw(paths.indexOf(longest));
  selection.watch(({ step }) => {
    const at = step === null ? -1 : paths.findIndex((path) => path.step === step);
    if (at < 0) return;
    choice.querySelector("select").value = String(at);
    draw(at);
  });
}

const named = ({ step, length_ns: length }) => `${step === null ? "the whole recording" : `step ${step}`}, ${formatTime(length)}`;

function stepTable(paths, classes) {
  const [, longest] = extent(paths.map((path) => path.length_ns));
  return table({
    label: "Critical path of each step by class",
    rows: paths,
    limit: 12,
    columns: [
      { head: "Step", text: true, first: "ascending", key: (p) => p.step, cell: (p) => (p.step === null ? "all" : pick({ step: p.step }, String(p.step))) },
      { head: "", text: true, class: "plot", cell: (p) => pathStack(p, classes, longest) },
      { head: "Length", key: (p) => p.length_ns, cell: (p) => formatTime(p.length_ns) },
      { head: "Ends on rank", key: (p) => p.rank, cell: (p) => pickRank(p.rank) },
      { head: "Changes of rank", tip: "How often the path goes from one rank to another", key: (p) => p.hops, cell: (p) => formatCount(p.hops) },
    ],
    sort: [0, "ascending"],
  });
}

function pathStack(path, classes, whole) {
  const shown = classes.filter(([key]) => path.by_class[key] > 0);
  const bar = h("div", { class: "stack", "aria-hidden": "true" }, ...shown.map(([key, , css]) => h("span", { class: css, style: { flex: `0 1 ${path.by_class[key] / whole * 100}%` } })));
  return tip.on(bar, () => tip.rows(named(path), shown.map(([key, name]) => [name, formatTime(path.by_class[key])])));
}

function topTable({ top }) {
  const [, most] = extent(top.map((share) => share.ns));
  const of = (share) => PATH_CLASSES.find(([key]) => key === share.class) ?? [share.class, share.class, "idle"];
  return table({
    label: "What is longest on the critical path",
    rows: top,
    columns: [
      { head: "Name", text: true, class: "mono", key: (s) => s.name, cell: (s) => h("span", {}, h("span", { class: "clamp", title: s.name }, s.name), s.kernel ? h("span", { class: "second clamp" }, s.kernel) : null) },
      { head: "Class", text: true, key: (s) => s.class, cell: (s) => h("span", { style: { whiteSpace: "nowrap" } }, h("span", { class: `swatch ${of(s)[2]}` }), of(s)[1]) },
      { head: "Rank", first: "ascending", key: (s) => s.rank, cell: (s) => pickRank(s.rank) },
      { head: "Pieces", key: (s) => s.count, cell: (s) => formatCount(s.count) },
      { head: "Time", key: (s) => s.ns, cell: (s) => formatTime(s.ns) },
      { head: "", text: true, class: "plot narrow", cell: (s) => levelBar(s.ns, most, of(s)[2]) },
    ],
    sort: [4, "descending"],
  });
}

function slackTable({ slack }) {
  if (slack.length === 0) return [];
  return [
    h("h3", {}, "Nearly on it"),
    lead("Operators that are not on the path. Slack is the least by which one of their kernels could take longer before the step does."),
    table({
      label: "Slack of what is not on the critical path",
      rows: slack,
      limit: 8,
      columns: [
        { head: "Name", text: true, class: "mono", key: (s) => s.name, cell: (s) => h("span", { class: "clamp", title: s.name }, s.name) },
        { head: "Rank", first: "ascending", key: (s) => s.rank, cell: (s) => pickRank(s.rank) },
        { head: "Time in all", key: (s) => s.ns, cell: (s) => formatTime(s.ns) },
        { head: "Slack", first: "ascending", key: (s) => s.least_ns, cell: (s) => formatTime(s.least_ns) },
      ],
      sort: [3, "ascending"],
    }),
  ];
}
