// What is selected in the page: a rank, a step, or both; of clocks a node and a round. One place knows it; views show it and ask for another.
import { RANKS_AND_STEPS, fragmentOf, nothing, selectionIn } from "./pure/deep_link.js";

const current = nothing(RANKS_AND_STEPS);
const watchers = [];

export const selection = {
  get: () => ({ ...current }),
  // What can be selected in this page, in the order of its links. Others are forgotten.
  among(names) {
    for (const name of Object.keys(current)) delete current[name];
    Object.assign(current, nothing(names));
  },
  // What is not given stays as it is.
  choose(change) {
    const before = fragmentOf(current);
    Object.assign(current, change);
    if (fragmentOf(current) === before) return;
    history.replaceState(null, "", location.pathname + location.search + fragmentOf(current));
    for (const watcher of watchers) watcher(selection.get());
  },
  clear: () => selection.choose(nothing(Object.keys(current))),
  // Calls `watcher` now, and whenever another is selected.
  watch(watcher) {
    watchers.push(watcher);
    watcher(selection.get());
  },
};

// Takes what the address says, if it is known, now and whenever it changes.
export function followAddress(isSelectable) {
  const follow = () => {
    const linked = selectionIn(location.hash, Object.keys(current));
    if (linked !== null && isSelectable(linked)) selection.choose(linked);
  };
  follow();
  addEventListener("hashchange", follow);
}
