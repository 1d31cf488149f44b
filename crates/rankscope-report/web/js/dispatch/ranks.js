// What every rank holds, computes and moves.
import { section } from "../dom.js";
import { formatBytes, formatCount } from "../pure/format.js";
import { pickRank } from "../pick.js";
import { table } from "../table.js";
import { shareOfMean } from "./loads.js";

export function drawRanks(plan) {
  const figure = (head, key, format) => ({ head, key, cell: (rank) => format(key(rank)) });
  const digits = (x) => x.toFixed(3);
  section("ranks").body.append(table({
    label: "What every rank holds, computes and moves",
    rows: plan.ranks,
    columns: [
      { head: "Rank", text: true, key: (rank) => rank.rank, cell: (rank) => pickRank(rank.rank) },
      figure("Tokens held", (rank) => rank.tokens, formatCount),
      figure("Before, × mean", (rank) => shareOfMean(plan, rank.work_before), digits),
      figure("After, × mean", (rank) => shareOfMean(plan, rank.work_after), digits),
      figure("Sends", (rank) => rank.sent_bytes, formatBytes),
      figure("Receives", (rank) => rank.received_bytes, formatBytes),
    ],
    sort: [0, "ascending"],
  }));
}
