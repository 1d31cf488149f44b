// The longest documents from their first token to their last, cut where the plan cuts them. Colour tells the rank that
// computes a piece; a piece that stays where its tokens live is pale. Where heads are split, groups of them that are computed alike
// have a bar of their own.
import { theme } from "../canvas.js";
import { empty, h, lead, section, swatches } from "../dom.js";
import { formatCount, plural, rankList } from "../pure/format.js";
import { pickable } from "../pick.js";
import { tip } from "../tip.js";

export function drawDocuments(plan) {
  const { body, bar } = section("strips");
  if (plan.documents.length === 0) return body.append(empty("There is no document in this batch."));
  const longest = plan.documents[0].tokens;
  bar.append(swatches([{ colour: "hsl(210 60% 50%)", text: "computed elsewhere" }, { colour: "hsl(210 30% 50% / .28)", text: "stays on its rank" }]));
  const cut = plan.documents.length < plan.document_count ? ` The ${plan.documents.length} longest of ${formatCount(plan.document_count)} are shown.` : "";
  const bars = plan.head_groups ? `Each bar is a part of the heads of a document, which are in ${plan.head_groups} groups; groups that are computed alike share one. The number` : "Each bar is a document; the number";
  body.append(lead(`${bars} on a piece is the rank that computes it, and each colour is a rank. Later pieces are shorter because they attend to everything before them.${cut}`));
  body.append(h("div", {}, ...plan.documents.map((one) => strip(one, plan, longest))));
}

function strip(one, plan, longest) {
  const of = h("div", { class: "of" }, `${one.document} · ${plural(one.tokens, "token")}`);
  if (!plan.head_groups) return h("div", { class: "strip" }, of, pieces(one, one.shards, longest));
  const parts = one.heads.map((part) => {
    const name = part.groups.length === plan.head_groups ? "all heads" : `${part.groups.length === 1 ? "group" : "groups"} ${rankList(part.groups, Infinity)}`;
    return h("div", { class: "heads" }, h("div", { class: "of", title: name }, name), h("div", {}, pieces(one, part.shards, longest, name)));
  });
  return h("div", { class: "strip" }, of, ...parts);
}

function pieces(one, shards, longest, heads) {
  let start = 0;
  const spans = shards.map(([linear, attention, tokens]) => {
    const from = start;
    start += tokens;
    const piece = h("span", { tabindex: "0", style: { flex: `${tokens} 0 0`, background: hue(attention, linear !== attention) } }, tokens / longest > 0.02 ? String(attention) : "");
    return tip.on(pickable(piece, { rank: attention }), () => tip.rows(`Document ${one.document}, tokens ${formatCount(from)} to ${formatCount(from + tokens)}`, [
      ["held by", `rank ${linear}`], ["computed by", `rank ${attention}`], ["tokens", formatCount(tokens)], ["attends to", `${formatCount(from + tokens)} tokens`], ...(heads ? [["heads", heads]] : [])]));
  });
  return h("div", { class: "pieces", style: { width: `${one.tokens / longest * 100}%` } }, ...spans);
}

// Neighbouring ranks get hues far apart, none so dark or so light that the number on it could not be read.
function hue(rank, moved) {
  const angle = (rank * 137.508) % 360;
  return moved ? `hsl(${angle.toFixed(0)} 60% ${theme() === "dark" ? 24 : 72}%)` : `hsl(${angle.toFixed(0)} 30% 50% / .28)`;
}
