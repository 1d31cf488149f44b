// What was found: where, on which rank, and by how much a rule is missed. A rank that is selected is shown alone.
import { select } from "../controls.js";
import { absent, empty, h, lead, levelBar, section } from "../dom.js";
import { pickRank } from "../pick.js";
import { formatTime } from "../pure/format.js";
import { concerns } from "../pure/gaps.js";
import { extent } from "../pure/scale.js";
import { selection } from "../selection.js";
import { table } from "../table.js";
import { ruleName, weightTag } from "./rules.js";

export function drawFound({ findings }) {
  const { body, bar } = section("findings-of-rules");
  if (findings.length === 0) return body.append(empty("Nothing: every rule that could be judged is kept."));
  const wanted = { rule: "", rank: null };
  const drawn = foundTable(findings);
  const shown = lead("");
  const filter = () => {
    const { rule, rank } = wanted;
    drawn.filter(rule === "" && rank === null ? null : (one) => (rule === "" || one.rule === rule) && (rank === null || concerns(one, rank)));
    shown.textContent = rank === null ? "The gravest first. Select a rank to see what concerns it alone." : `What concerns rank ${rank}. Escape shows all.`;
  };
  const rules = [...new Set(findings.map((one) => one.rule))];
  bar.append(select("Rule", [["", "all"], ...rules.map((rule) => [rule, ruleName(rule)])], (rule) => {
    wanted.rule = rule;
    filter();
  }));
  body.append(shown, drawn);
  selection.watch(({ rank }) => {
    wanted.rank = rank;
    filter();
  });
}

function foundTable(rows) {
  const [, most] = extent(rows.map((one) => one.gap_ns ?? 0));
  const css = { violation: "wait", loss: "comm" };
  return table({
    label: "What was found",
    rows,
    limit: 24,
    columns: [
      { head: "Rule", csv: "rule", text: true, key: (f) => f.rule, cell: (f) => h("span", { style: { whiteSpace: "nowrap" } }, weightTag(f.weight), " ", ruleName(f.rule)) },
      { head: "Rank", csv: "rank", first: "ascending", key: (f) => f.rank, cell: (f) => pickRank(f.rank) },
      { head: "Event", csv: "op", text: true, class: "mono", key: (f) => f.op, cell: (f) => (f.op ? h("span", { class: "clamp", title: f.op }, f.op) : absent("of the file as a whole")) },
      { head: "Missed by", csv: "gap_ns", key: (f) => f.gap_ns, cell: (f) => (f.gap_ns === null ? absent("the rule has no measure") : formatTime(f.gap_ns)) },
      { head: "", text: true, class: "plot narrow", cell: (f) => levelBar(f.gap_ns ?? 0, most, css[f.weight] ?? "idle") },
      { head: "At", csv: "at_ns", tip: "After the first of these", first: "ascending", key: (f) => f.at_ns, cell: (f) => (f.at_ns === null ? absent("not known") : `+${formatTime(f.at_ns)}`) },
      { head: "What", csv: "detail", text: true, class: "name", key: (f) => f.detail, cell: (f) => f.detail },
    ],
    sort: [-1, "descending"],
  });
}
