// What is selected, in a bar at the foot of the window: what is known of it, a link to it, and the way out.
import { copyButton } from "./controls.js";
import { h } from "./dom.js";
import { selection } from "./selection.js";

// `names` in the order in which they are said; `words(chosen)` are the figures of a selection, each a text.
export function drawSelected(names, words) {
  const said = h("p", { role: "status" });
  const bar = h("aside", { id: "selected", "aria-label": "Selection", hidden: "" }, said,
    copyButton("Copy link", () => location.href, "Copy a link to this selection"),
    h("button", { type: "button", class: "plain small", onclick: () => selection.clear(), title: "Escape" }, "Clear"));
  document.querySelector("main").append(bar);
  selection.watch((chosen) => {
    const parts = names.filter((name) => chosen[name] !== null).map((name) => `${name} ${chosen[name]}`);
    bar.hidden = parts.length === 0;
    said.replaceChildren(h("b", {}, capital(parts.join(", "))), ...(parts.length === 0 ? [] : words(chosen)).map((text) => h("span", {}, ` · ${text}`)));
  });
}

const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);
