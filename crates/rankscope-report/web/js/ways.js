// The way from a served page to the others of its run, above its heading.
import { h } from "./dom.js";
import { servedRun } from "./pure/served_run.js";

export function drawWays(isReport) {
  const run = servedRun(location.href);
  if (run === null) return;
  const ways = [["/", "All runs"], [run, "This run"], ...(isReport ? [] : [[`${run}report`, "Report"]])];
  document.querySelector(".kicker").append(...ways.flatMap(([href, text]) => [" · ", h("a", { href }, text)]));
}
