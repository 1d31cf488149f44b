// The list of runs.

import { asked, byId, element, fill } from "./dom.js";
import { opener } from "./perfetto.js";

/** @param {number} ns */
const moment = (ns) => (ns > 0 ? new Date(ns / 1e6).toISOString().replace("T", " ").slice(0, 16) : "unknown");

async function show() {
  const { runs, viewer } = await asked("/api/runs");
  fill(
    "runs",
    runs.map((run) => {
      const at = `/runs/${encodeURIComponent(run.name)}/`;
      const links = document.createElement("span");
      if (run.page) links.append(element("a", "report", { href: `${at}files/${run.page}` }), " ");
      links.append(element("a", "details", { href: at }), " ");
      if (run.validation) links.append(element("a", "validation", { href: `${at}files/${run.validation}` }), " ");
      if (run.timeline) links.append(opener(`${at}files/${run.timeline}`, run.name, viewer, run.timeline_at));
      return [run.name, moment(run.started_unix_ns), run.state, String(run.ranks ?? "unknown"), run.headline || run.problem || "no report yet", links];
    }),
  );
  byId("said").textContent = runs.length ? "" : "There is no run in this folder yet: rankscope run or rankscope report --out makes one.";
}

show().catch((error) => (byId("said").textContent = error.message));
