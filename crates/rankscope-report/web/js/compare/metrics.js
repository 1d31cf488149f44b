// Every metric, of the job, of ranks and of collectives.
import { lead } from "../dom.js";
import { metricsTable } from "./verdicts.js";

export function drawAllMetrics({ pair }, body) {
  body.append(lead("Of the job, of each rank and of collectives. Among many some differ by chance: there a verdict allows for how many there are."), metricsTable(pair.metrics, { plot: false, label: "All metrics", limit: 20 }));
}
