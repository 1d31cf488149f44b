// Draws what validation found, in the order of the page.
import { given } from "./given.js";
import { drawOne, foldSections, openHouse } from "./house.js";
import { formatCount, plural } from "./pure/format.js";
import { records } from "./pure/packed.js";
import { drawFound } from "./validation/found.js";
import { drawGaps } from "./validation/gaps.js";
import { drawJudged } from "./validation/ranks.js";
import { drawRules } from "./validation/rules.js";
import { drawWays } from "./ways.js";

drawWays(false);

const checked = { ...given, ranks: records(given.ranks), findings: records(given.findings) };
const VALIDATED = { rules: drawRules, "findings-of-rules": drawFound, gaps: drawGaps, ranks: drawJudged };

function wordsOf({ rank }) {
  const one = checked.ranks.find((known) => known.rank === rank);
  return one ? [plural(one.violations, "violation"), `${formatCount(one.losses)} ${one.losses === 1 ? "loss" : "losses"}`, plural(one.warnings, "warning")] : [];
}

openHouse({ rank: checked.ranks.map((rank) => rank.rank) }, wordsOf, () => {
  for (const [id, draw] of Object.entries(VALIDATED)) drawOne(id, () => draw(checked));
  foldSections({ ranks: `${plural(checked.ranks.length, "rank")}, with what was found on each and its file` });
});
