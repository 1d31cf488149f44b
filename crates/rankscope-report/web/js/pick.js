// Buttons that select a rank or a step, in tables and cards. They show what is selected, wherever it was selected.
import { h } from "./dom.js";
import { selection } from "./selection.js";

// A selection is pressed where all of it is selected.
export function pick(what, text) {
  const button = h("button", { type: "button", class: "pick", onclick: () => selection.choose(isPressed(button) ? Object.fromEntries(Object.keys(what).map((key) => [key, null])) : what) }, text);
  for (const [key, value] of Object.entries(what)) button.dataset[key] = value;
  showPressed(button, selection.get());
  return button;
}

export const pickRank = (rank, text = String(rank)) => pick({ rank }, text);

const isPressed = (button) => button.getAttribute("aria-pressed") === "true";

function showPressed(button, chosen) {
  const pressed = ["step", "rank"].every((key) => button.dataset[key] === undefined || String(chosen[key]) === button.dataset[key]);
  button.setAttribute("aria-pressed", String(pressed));
}

// Keeps every button of the page up to date, and lets a click anywhere in a row press the button of the row.
export function followSelection() {
  selection.watch((chosen) => document.querySelectorAll(".pick").forEach((button) => showPressed(button, chosen)));
  document.querySelector("main").addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || event.target.closest("button, a, summary, input, select")) return;
    const button = event.target.closest("tbody tr")?.querySelector(".pick");
    if (button instanceof HTMLElement) button.click();
  });
}
