// Draws a plan. The others' functions, in the order of the page.

const plan = JSON.parse(document.getElementById("document").textContent);

function drawRanks() {
  const of = (name, key, format) => ({ head: name, key, cell: (rank) => format(key(rank)) });
  section("ranks").body.append(table({
    label: "What every rank holds, computes and moves",
    rows: plan.ranks,
    columns: [
      { head: "Rank", text: true, key: (rank) => rank.rank, cell: (rank) => String(rank.rank) },
      of("Tokens held", (rank) => rank.tokens, formatCount),
      of("Before, × mean", (rank) => share(plan, rank.work_before), (x) => x.toFixed(3)),
      of("After, × mean", (rank) => share(plan, rank.work_after), (x) => x.toFixed(3)),
      of("Sends", (rank) => rank.sent_bytes, formatBytes),
      of("Receives", (rank) => rank.received_bytes, formatBytes),
    ],
    sort: [0, "ascending"],
  }));
}

drawLoads(plan);
drawTraffic(plan);
drawStrips(plan);
drawRanks();
