// What is selected in the page: a rank, a step, or both. One place knows it; views show it and ask for another.
import { fragmentOf, selectionIn } from "./pure/deep_link.js";

const current = { step: null, rank: null };
const watchers = [];

export const selection = {
  get: () => ({ ...current }),
  // Takes a rank, a step, or both; what is not given stays as it is.
  choose(change) {
    const before = fragmentOf(current);
    Object.assign(current, change);
    if (fragmentOf(current) === before) return;
    history.replaceState(null, "", location.pathname + location.search + fragmentOf(current));
    for (const watcher of watchers) watcher(selection.get());
  },
  clear: () => selection.choose({ step: null, rank: null }),
  // Calls `watcher` now, and whenever another is selected.
  watch(watcher) {
    watchers.push(watcher);
    watcher(selection.get());
  },
};

// Takes what the address says, if it is known, now and whenever it changes.
export function followAddress(isKnown) {
  const follow = () => {
    const linked = selectionIn(location.hash);
    if (linked !== null && isKnown(linked)) selection.choose(linked);
  };
  follow();
  addEventListener("hashchange", follow);
}
