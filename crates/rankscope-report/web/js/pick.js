// Buttons that select a rank, a step or a node, in tables and cards. They show what is selected, wherever it was selected.
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

// Lets a click on a drawn element select what it stands for. Keys and tables reach the same, so it is no button.
export function pickable(element, what) {
  element.classList.add("pickable");
  for (const [key, value] of Object.entries(what)) element.dataset[key] = value;
  element.addEventListener("click", () => selection.choose(element.hasAttribute("data-chosen") ? Object.fromEntries(Object.keys(what).map((key) => [key, null])) : what));
  showChosen(element, selection.get());
  return element;
}

const isPressed = (button) => button.getAttribute("aria-pressed") === "true";

const isChosen = (element, chosen) => Object.keys(chosen).every((key) => element.dataset[key] === undefined || String(chosen[key]) === element.dataset[key]);

const showPressed = (button, chosen) => button.setAttribute("aria-pressed", String(isChosen(button, chosen)));
const showChosen = (element, chosen) => element.toggleAttribute("data-chosen", isChosen(element, chosen));

// Keeps every button of the page up to date, and lets a click anywhere in a row press the button of the row.
export function followSelection() {
  selection.watch((chosen) => {
    document.querySelectorAll(".pick").forEach((button) => showPressed(button, chosen));
    document.querySelectorAll(".pickable").forEach((element) => showChosen(element, chosen));
  });
  document.querySelector("main").addEventListener("click", (event) => {
    if (!(event.target instanceof Element) || event.target.closest("button, a, summary, input, select")) return;
    const button = event.target.closest("tbody tr")?.querySelector(".pick");
    if (button instanceof HTMLElement) button.click();
  });
}
