// Ranks: how much was found on each, and its file.
import { absent, section } from "../dom.js";
import { pickRank } from "../pick.js";
import { formatCount, formatTime } from "../pure/format.js";
import { table } from "../table.js";

export function drawJudged({ ranks }) {
  const count = (head, key) => ({ head, csv: key, key: (rank) => rank[key], cell: (rank) => formatCount(rank[key]) });
  section("ranks").body.append(table({
    label: "What was found on each rank",
    rows: ranks,
    limit: 24,
    columns: [
      { head: "Rank", csv: "rank", text: true, first: "ascending", key: (rank) => rank.rank, cell: (rank) => pickRank(rank.rank) },
      count("Violations", "violations"), count("Losses", "losses"), count("Warnings", "warnings"),
      { head: "Missed by, at most", csv: "worst_ns", key: (rank) => rank.worst_ns, cell: (rank) => (rank.worst_ns === null ? absent("nothing with a measure was found") : formatTime(rank.worst_ns)) },
      { head: "Host", csv: "host", text: true, key: (rank) => rank.host, cell: (rank) => rank.host || absent("the file names none") },
      { head: "File", text: true, class: "mono", key: (rank) => rank.files.join(" "), cell: (rank) => rank.files.join(", ") || absent("it has no part in a collective") },
    ],
    sort: [1, "descending"],
  }));
}
