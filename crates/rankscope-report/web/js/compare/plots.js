// The thirteen plots of aorta's report: means, ranks and collectives of both sides, in the units of what they show.
import { empty, h, lead, note, swatches } from "../dom.js";
import { tip } from "../tip.js";
import { formatRate, formatTime } from "../pure/format.js";
import { columnChart, framed, heatTable, lineChart } from "./charts.js";
import { isKnown, signedPercent, withSign } from "./figures.js";

const RANKS_SHOWN = 64;
const GROUPS_SHOWN = 12;
// Percent at which a colour is full, whatever else is in the plot, and up to which a change counts as none.
const FULL = 20;
const NONE = 1;

export function drawPlots({ pair, beside }, body, bar) {
  if (!beside || beside.summary.length === 0) return body.append(empty("The document has no figures side by side. Compare the runs again to get these plots."));
  bar.append(swatches([{ css: "of-base", text: pair.base }, { css: "of-test", text: pair.test }]));
  const signs = beside.convention === "aorta" ? "Percentages have aorta's signs: positive is better." : "Percentages are test minus base: a positive time takes longer, a positive rate is faster.";
  body.append(lead(`Time by class over the whole trace, and collectives by what they move. ${signs}`));
  body.append(h("div", { class: "figures" }, ...meanPlots(beside), ...rankLines(beside)));
  body.append(...rankHeat(beside), ...rankGrid(beside));
  if (beside.collectives.length > 0) body.append(h("h3", {}, "Collectives"), h("div", { class: "figures" }, ...collectivePlots(beside)));
}

const plain = (name) => name.replace("_time", "").replaceAll("_", " ");

// Positive is better in aorta's signs and takes longer in ours; a rate is better when it grows in both.
const isWorse = (beside, percent, isRate) => (beside.convention === "aorta" || isRate ? percent < 0 : percent > 0);
const changeCss = (beside, percent, isRate) => (!isKnown(percent) || Math.abs(percent) <= NONE ? "within" : isWorse(beside, percent, isRate) ? "longer" : "less");

const timeTip = (row) => () => tip.rows(plain(row.name), [["base", formatTime(row.time.base)], ["test", formatTime(row.time.test)], ["change", withSign("ns", row.time.diff)], ["% change", signedPercent(row.time.percent_change)], ["status", row.status.replaceAll("_", " ")]]);

function meanPlots(beside) {
  const changes = beside.summary.map((row) => ({ name: plain(row.name), values: [[changeCss(beside, row.time.percent_change), row.time.percent_change]], tip: timeTip(row) }));
  const times = beside.summary.map((row) => ({ name: plain(row.name), values: [["of-base", row.time.base], ["of-test", row.time.test]], tip: timeTip(row) }));
  return [
    framed("Change of the mean of the ranks, %", columnChart("Change by class", changes, (v) => `${v} %`)),
    framed("Mean time of the ranks", columnChart("Time by class", times, formatTime)),
  ];
}

const ranksOf = (beside) => [...new Set(beside.ranks.map((row) => row.rank))];
const rowsOf = (beside, name) => new Map(beside.ranks.filter((row) => row.name === name).map((row) => [row.rank, row]));

function rankLines(beside) {
  const ranks = ranksOf(beside);
  return [["total_time", "Total time of each rank"], ["computation_time", "Computation of each rank"], ["total_comm_time", "Communication of each rank"], ["idle_time", "Idle time of each rank"]].map(([name, title]) => {
    const rows = rowsOf(beside, name);
    const values = (side) => ranks.map((rank) => rows.get(rank)?.time[side] ?? null);
    return framed(title, lineChart(title, ranks, [["of-base", values("base")], ["of-test", values("test")]], formatTime));
  });
}

// The ranks that changed most, in their order.
function shownRanks(beside) {
  const ranks = ranksOf(beside);
  if (ranks.length <= RANKS_SHOWN) return ranks;
  const totals = rowsOf(beside, "total_time");
  const change = (rank) => Math.abs(totals.get(rank)?.time.percent_change ?? 0);
  const kept = new Set([...ranks].sort((a, b) => change(b) - change(a)).slice(0, RANKS_SHOWN));
  return ranks.filter((rank) => kept.has(rank));
}

function rankHeat(beside) {
  const names = beside.summary.map((row) => row.name);
  const all = new Map(beside.ranks.map((row) => [`${row.rank} ${row.name}`, row.time.percent_change]));
  const look = (percent) => [changeCss(beside, percent), isKnown(percent) && Math.abs(percent) > NONE ? 0.15 + 0.65 * Math.min(1, Math.abs(percent) / FULL) : 0];
  const labels = new Map(names.map((name) => [plain(name), name]));
  const ranks = shownRanks(beside);
  const heat = heatTable("Change of each rank by class", ranks.map((rank) => `rank ${rank}`), [...labels.keys()], (row, column) => all.get(`${row.replace("rank ", "")} ${labels.get(column)}`) ?? null, look, signedPercent);
  const parts = [framed("Change of each rank by class, %", heat), note("Orange is worse, blue is better. A colour is full from 20 % on; up to 1 % there is none.")];
  if (ranks.length < ranksOf(beside).length) parts.push(note("Of all ranks, those whose total changed most are shown."));
  return parts;
}

// A small chart for each class: the change of each rank.
function rankGrid(beside) {
  const ranks = shownRanks(beside);
  const grid = beside.summary.map((mean) => {
    const rows = rowsOf(beside, mean.name);
    const columns = ranks.filter((rank) => rows.has(rank)).map((rank) => {
      const row = rows.get(rank);
      return { name: String(rank), values: [[changeCss(beside, row.time.percent_change), row.time.percent_change]], tip: timeTip(row) };
    });
    return framed(`${plain(mean.name)}, % by rank`, columnChart(`Change of ${plain(mean.name)} by rank`, columns, (v) => `${v} %`));
  });
  return [h("h3", {}, "Change of each class by rank"), h("div", { class: "figures small" }, ...grid)];
}

function collectivePlots(beside) {
  const size = (row) => Math.abs(row.total.diff ?? 0);
  const kept = new Set([...beside.collectives].sort((a, b) => size(b) - size(a)).slice(0, GROUPS_SHOWN));
  const rows = beside.collectives.filter((row) => kept.has(row));
  const name = (row) => `${row.name} ${row.in_elements ?? ""}`;
  const groupTip = (row) => () => tip.rows(`${row.name} ${row.dtype}`, [["latency", formatTime(row.latency.base), formatTime(row.latency.test)], ["total", formatTime(row.total.base), formatTime(row.total.test)], ["algorithm", rateText(row.algbw.base), rateText(row.algbw.test)], ["bus", rateText(row.busbw.base), rateText(row.busbw.test)], ["status", row.status.replaceAll("_", " ")]]);
  const both = (key) => rows.map((row) => ({ name: name(row), values: [["of-base", row[key].base], ["of-test", row[key].test]], tip: groupTip(row) }));
  const rate = beside.convention === "aorta" ? "GiB/s, as aorta counts" : "GB/s";
  const changes = rows.map((row) => ({ name: name(row), values: /** @type {[string, boolean][]} */ ([["latency", false], ["busbw", true]]).map(([key, isRate]) => [changeCss(beside, row[key].percent_change, isRate), row[key].percent_change]), tip: groupTip(row) }));
  const number = (v) => String(Number(v.toPrecision(6)));
  return [
    framed("Latency, mean", columnChart("Latency of collectives", both("latency"), formatTime)),
    framed(`Algorithm bandwidth, ${rate}`, columnChart("Algorithm bandwidth of collectives", both("algbw"), number)),
    framed(`Bus bandwidth, ${rate}`, columnChart("Bus bandwidth of collectives", both("busbw"), number)),
    framed("Total latency", columnChart("Total latency of collectives", both("total"), formatTime)),
    framed("Change of latency (left) and bus bandwidth (right), %", columnChart("Change of collectives", changes, (v) => `${v} %`)),
  ];
}

const rateText = (rate) => (isKnown(rate) ? formatRate(rate) : "–");
