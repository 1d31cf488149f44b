// Where everything came from, and what was wrong with it.
import { absent, empty, h, note, section } from "../dom.js";
import { formatBytes, formatCount } from "../pure/format.js";
import { table } from "../table.js";

const RANK_SOURCES = { header: "the file's header", events: "its events", file_name: "the file name", order: "the order of the files" };
const STEP_SOURCES = { device_annotations: "device annotations", launches: "launches", host_annotations: "host annotations" };

export function drawFiles(doc) {
  const { body } = section("files");
  body.append(fileTable(doc.ranks), h("h3", {}, "Problems"));
  const problems = doc.ranks.flatMap((rank) => rank.problems.map((problem) => ({ rank: rank.rank, ...problem })));
  body.append(problems.length > 0 ? problemTable(problems) : empty("None: every file was read without damage."), checkedBeside());
}

// The page of validation is another command's, which may not have been given.
function checkedBeside() {
  const said = note("");
  said.append("Whether what these files show can have happened is told by ", h("code", {}, "rankscope validate --html validation.html"), ". If that was written beside this page, it is ", h("a", { href: "validation.html" }, "here"), ".");
  return said;
}

function fileTable(ranks) {
  const told = (value, words) => words[value] ?? (value || "not known");
  return table({
    label: "Files",
    rows: ranks,
    limit: 8,
    columns: [
      { head: "Rank", text: true, first: "ascending", key: (r) => r.rank, cell: (r) => h("span", { title: `Rank from ${told(r.rank_source, RANK_SOURCES)}` }, String(r.rank), r.rank_source === "order" ? h("span", { class: "chip" }, "by order") : null) },
      { head: "File", text: true, class: "mono", key: (r) => r.file, cell: (r) => r.file },
      { head: "Host and device", text: true, key: (r) => r.host ?? "", cell: (r) => [r.host, r.device].filter(Boolean).join(" · ") || absent("the file names neither") },
      { head: "Steps", tip: "How many, and where they come from", key: (r) => r.steps, cell: (r) => (r.steps > 0 ? h("span", {}, `${formatCount(r.steps)} `, h("span", { class: "of" }, `from ${told(r.step_source, STEP_SOURCES)}`)) : absent("this file marks no steps")) },
      { head: "Events", key: (r) => r.events, cell: (r) => formatCount(r.events) },
      { head: "Size", tip: "After decompression", key: (r) => r.bytes, cell: (r) => formatBytes(r.bytes) },
      { head: "Format", text: true, key: (r) => r.format, cell: (r) => r.format },
      { head: "Times", text: true, key: (r) => r.accounting, cell: (r) => r.accounting },
    ],
    sort: [0, "ascending"],
  });
}

function problemTable(problems) {
  return table({
    label: "Problems",
    rows: problems,
    limit: 16,
    columns: [
      { head: "Rank", text: true, first: "ascending", key: (p) => p.rank, cell: (p) => String(p.rank) },
      { head: "Problem", text: true, key: (p) => p.kind, cell: (p) => h("span", {}, p.kind.replaceAll("_", " "), p.detail ? h("span", { class: "second" }, p.detail) : null) },
      { head: "Count", key: (p) => p.count, cell: (p) => formatCount(p.count) },
      { head: "First at byte", tip: "Offset in the decompressed file", key: (p) => p.offset, cell: (p) => formatCount(p.offset) },
    ],
    sort: [2, "descending"],
  });
}
