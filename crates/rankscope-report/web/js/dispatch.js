// Draws a plan, in the order of the page.
import { drawLoads } from "./dispatch/loads.js";
import { drawRanks } from "./dispatch/ranks.js";
import { drawStrips } from "./dispatch/strips.js";
import { drawTraffic } from "./dispatch/traffic.js";
import { given } from "./given.js";

drawLoads(given);
drawTraffic(given);
drawStrips(given);
drawRanks(given);
