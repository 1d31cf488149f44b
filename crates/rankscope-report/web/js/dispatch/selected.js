// What is known of a rank of a plan.
import { loadRows } from "./loads.js";

export function plannedWords(plan, { rank }) {
  const one = plan.ranks.find((known) => known.rank === rank);
  return one ? loadRows(plan, one).map(([name, value]) => `${name} ${value}`) : [];
}
