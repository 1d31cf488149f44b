// The first screen: what slows the job, at most three cards, and what a step consists of.
import { copyButton } from "../controls.js";
import { h } from "../dom.js";
import { formatCount, formatTime, plural } from "../pure/format.js";
import { pickRank } from "../pick.js";
import { firstAnswers } from "../pure/answers.js";
import { meanStep } from "./mean_step.js";

export function drawAnswers(doc) {
  const cards = firstAnswers(doc).map((one) => card(one, doc));
  document.getElementById("answers").append(h("div", { class: `cards of-${cards.length}` }, ...cards), ...meanStep(doc));
}

function card({ title, cost, because, remedy, check, ranks, late, thin }, doc) {
  const sentences = [...because, ...(late === null ? [] : [lateSentence(late, doc)])];
  const lines = [["Because", sentences.length > 0 ? h("span", {}, ...sentences.map((text) => h("span", { class: "line" }, text))) : null], ["Do", remedy], ["Check", check && command(check)]];
  return h("article", { class: thin === null ? "card" : "card thin" },
    h("p", { class: "who" }, ...whom(ranks, cost), late === null || title.endsWith("is late") ? null : " is late"),
    h("h2", {}, title),
    cost && h("p", { class: "cost" }, h("b", {}, formatTime(cost.ns)), ` ${cost.per}`, cost.lo < cost.hi ? h("span", { class: "of" }, `, ${formatTime(cost.lo)} to ${formatTime(cost.hi)}`) : null),
    thin ? h("p", { class: "note" }, thin) : null,
    h("dl", {}, ...lines.filter(([, text]) => text).flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)])));
}

const WHOM = 4;

// The ranks a card is about, each to be selected.
function whom(ranks, cost) {
  if (ranks.length === 0) return [cost ? "Every rank" : "Late ranks"];
  const more = ranks.length > WHOM ? [`and ${plural(ranks.length - WHOM, "other")}`] : [];
  return [...ranks.slice(0, WHOM).map((rank) => pickRank(rank, `Rank ${rank}`)), ...more];
}

// What the verdict on a late rank rests on.
function lateSentence({ rank, delay_wall_ns: ns, lo_ns: lo, hi_ns: hi }, doc) {
  const seen = doc.collectives.ranks.find((one) => one.rank === rank);
  const last = seen && seen.last > 0 ? `; it comes last to ${formatCount(seen.last)} of ${formatCount(seen.matched)} collectives` : "";
  return `The others wait ${formatTime(ns)} for it in all (${formatTime(lo)} to ${formatTime(hi)})${last}.`;
}

const command = (check) => h("span", { class: "command" }, h("code", {}, check), copyButton("Copy", () => check, "Copy the command"));
