// What every page does: draws its sections, folds those that can wait, and follows one selection, from links, clicks and keys.
import { h } from "./dom.js";
import { foldSection, openWhatIsAskedFor } from "./fold_section.js";
import { listenToKeys } from "./keys.js";
import { followSelection } from "./pick.js";
import { drawSelected } from "./selected.js";
import { followAddress, selection } from "./selection.js";

// Draws the section that is called so. One that fails says so in its place and leaves the others standing.
export function drawOne(id, draw) {
  try {
    draw();
  } catch (error) {
    console.error(error);
    document.getElementById(id).append(h("p", { class: "banner" }, `This part could not be drawn: ${error.message}`));
  }
}

// Closes sections behind a line each: { id: what it says }.
export function foldSections(briefs) {
  for (const [id, brief] of Object.entries(briefs)) foldSection(id, brief);
}

// `selectable` is what can be selected, { name: values }, the one that j and k go along first; `words` says what is known of a selection.
export function openHouse(selectable, words, draw) {
  selection.among(Object.keys(selectable).reverse());
  draw();
  const known = Object.fromEntries(Object.entries(selectable).map(([name, values]) => [name, new Set(values)]));
  drawSelected(Object.keys(selectable), words);
  followSelection();
  followAddress((linked) => Object.entries(linked).every(([name, value]) => value === null || known[name].has(value)));
  openWhatIsAskedFor();
  listenToKeys(selectable);
}
