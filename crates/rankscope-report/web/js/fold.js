// A table of ranks that folds those that are alike into one row, and lists them when asked.
import { h } from "./dom.js";
import { pickRank } from "./pick.js";
import { foldRows } from "./pure/fold.js";
import { NBSP, formatCount } from "./pure/format.js";

// `make` makes the table of some rows.
export function foldedTable(rows, alike, make) {
  const folded = foldRows(rows, alike);
  if (folded.length === rows.length) return make(rows);
  const box = h("div");
  const draw = (isFolded) => {
    const text = isFolded ? `List all ${formatCount(rows.length)} ranks` : "Fold ranks that are alike";
    box.replaceChildren(make(isFolded ? folded : rows), h("button", { type: "button", class: "plain", onclick: () => draw(!isFolded) }, text));
  };
  draw(true);
  return box;
}

// The rank of a row, or what its row stands for.
export function rankOf({ rank, folded }) {
  if (!folded) return pickRank(rank);
  return h("span", { class: "folded" }, `${formatCount(folded.ranks.length)} ranks like `, pickRank(rank), h("span", { class: "second" }, `each part within ${(folded.ratio * 100).toFixed(0)}${NBSP}%`));
}
