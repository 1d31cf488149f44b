// Keys of a page: j and k go along what it selects first, h and l along the second, Escape clears, ? says so.
import { h } from "./dom.js";
import { selection } from "./selection.js";

const PAIRS = [["j", "k"], ["l", "h"]];

// `selectable` has the values of all that can be selected, by name.
export function listenToKeys(selectable) {
  const names = Object.keys(selectable).filter((name) => selectable[name].length > 0);
  const ways = Object.fromEntries(names.flatMap((name, at) => PAIRS[at].map((key, back) => [key, [name, back ? -1 : 1]])));
  const help = keyHelp(names);
  document.body.append(help);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target instanceof Element && event.target.closest("input, select, textarea"))) return;
    if (event.key === "Escape" && !help.open) selection.clear();
    else if (event.key === "?") help.showModal();
    else if (event.key === "/") focusSearch(event);
    else if (Object.hasOwn(ways, event.key)) move(selectable, ...ways[event.key]);
  });
}

// The next of a list, from the selected one; without one, the first.
function move(selectable, name, by) {
  const list = selectable[name];
  const at = list.indexOf(selection.get()[name]);
  const next = at < 0 ? 0 : Math.min(list.length - 1, Math.max(0, at + by));
  selection.choose({ [name]: list[next] });
}

function focusSearch(event) {
  const box = document.querySelector("input[type=search]");
  if (!(box instanceof HTMLElement)) return;
  event.preventDefault();
  box.closest("details")?.setAttribute("open", "");
  box.focus();
}

function keyHelp(names) {
  const searches = document.querySelector("input[type=search]") === null ? [] : [["/", "search the tables"]];
  const keys = [...names.map((name, at) => [PAIRS[at].join(", "), `next, previous ${name}`]), ["Escape", "clear the selection"], ...searches, ["?", "this list"]];
  const rows = keys.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]);
  return h("dialog", { id: "keys", "aria-label": "Keys" }, h("h2", {}, "Keys"), h("dl", {}, ...rows), h("form", { method: "dialog" }, h("button", { class: "plain" }, "Close")));
}
