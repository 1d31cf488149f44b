// Draws a plan, in the order of the page.
import { plannedWords } from "./dispatch/selected.js";
import { drawLoads } from "./dispatch/loads.js";
import { drawRanks } from "./dispatch/ranks.js";
import { drawDocuments } from "./dispatch/strips.js";
import { drawTraffic } from "./dispatch/traffic.js";
import { given } from "./given.js";
import { drawOne, foldSections, openHouse } from "./house.js";
import { formatCount, plural } from "./pure/format.js";
import { drawWays } from "./ways.js";

drawWays(false);

const PLANNED = { loads: drawLoads, traffic: drawTraffic, strips: drawDocuments, ranks: drawRanks };

const PLAN_BRIEFS = {
  strips: `${formatCount(given.documents.length)} of ${plural(given.document_count, "document")}, cut where the plan cuts them`,
  ranks: `${plural(given.ranks.length, "rank")}: tokens, work, bytes`,
};

openHouse({ rank: given.ranks.map((rank) => rank.rank) }, (chosen) => plannedWords(given, chosen), () => {
  for (const [id, draw] of Object.entries(PLANNED)) drawOne(id, () => draw(given));
  foldSections(PLAN_BRIEFS);
});
