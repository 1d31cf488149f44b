// Keys of the page: j and k go from rank to rank, h and l from step to step, Escape clears, ? says so.
import { h } from "./dom.js";
import { selection } from "./selection.js";

const KEYS = [["j, k", "next, previous rank"], ["l, h", "next, previous step"], ["Escape", "clear the selection"], ["/", "search the tables"], ["?", "this list"]];
const WAYS = { j: ["rank", 1], k: ["rank", -1], l: ["step", 1], h: ["step", -1] };

export function listenToKeys(doc) {
  const known = { rank: doc.ranks.map((rank) => rank.rank), step: doc.step_map?.steps ?? [] };
  const help = keyHelp();
  document.body.append(help);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target instanceof Element && event.target.closest("input, select, textarea"))) return;
    if (event.key === "Escape" && !help.open) selection.clear();
    else if (event.key === "?") help.showModal();
    else if (event.key === "/") focusSearch(event);
    else if (Object.hasOwn(WAYS, event.key)) move(known, ...WAYS[event.key]);
  });
}

// The next of a list, from the selected one; without one, the first.
function move(known, what, by) {
  const list = known[what];
  if (list.length === 0) return;
  const at = list.indexOf(selection.get()[what]);
  const next = at < 0 ? 0 : Math.min(list.length - 1, Math.max(0, at + by));
  selection.choose({ [what]: list[next] });
}

function focusSearch(event) {
  const box = document.querySelector("input[type=search]");
  if (!(box instanceof HTMLElement)) return;
  event.preventDefault();
  box.closest("details")?.setAttribute("open", "");
  box.focus();
}

function keyHelp() {
  const rows = KEYS.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]);
  const dialog = h("dialog", { id: "keys", "aria-label": "Keys" }, h("h2", {}, "Keys"), h("dl", {}, ...rows), h("form", { method: "dialog" }, h("button", { class: "plain" }, "Close")));
  return dialog;
}
