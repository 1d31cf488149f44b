// One run: its files, and what of its traces is read when asked for.

import { drawOperators, followTrees, treeLink } from "./calls.js";
import { asked, byId, element, fill, size, time } from "./dom.js";
import { opener } from "./perfetto.js";

const name = decodeURIComponent(location.pathname.split("/")[2]);
const at = `/runs/${encodeURIComponent(name)}/`;
const api = `/api/runs/${encodeURIComponent(name)}`;

/** A path with each of its names encoded. @param {string} path */
const encoded = (path) => path.split("/").map(encodeURIComponent).join("/");

async function show() {
  byId("name").textContent = name;
  const [{ files }, { runs, viewer }] = await Promise.all([asked(`${api}/files`), asked("/api/runs")]);
  const items = files.map((file) => {
    const item = document.createElement("li");
    item.append(element("a", file.path, { href: `${at}files/${encoded(file.path)}` }), ` ${size(file.bytes)}`);
    return item;
  });
  byId("files").replaceChildren(...items);
  const run = runs.find((one) => one.name === name);
  if (run?.page) byId("links").append(element("a", "report", { href: `${at}files/${encoded(run.page)}` }), " ");
  if (run?.validation) byId("links").append(element("a", "validation", { href: `${at}files/${encoded(run.validation)}` }), " ");
  if (run?.timeline) byId("links").append(opener(`${at}files/${encoded(run.timeline)}`, name, viewer, run.timeline_at));
  byId("said").textContent = run?.headline ?? "";
  begin(run?.rank ?? 0);
}

/** Has every form ask about `rank`, the one that the report names first, until somebody says another. @param {number} rank */
function begin(rank) {
  for (const field of document.querySelectorAll("input[name=rank]")) /** @type {HTMLInputElement} */ (field).value = String(rank);
  followTrees(api, rank);
}

/** What the fields of a form say, without those that are empty. @param {HTMLFormElement} form */
function query(form) {
  const pairs = [...new FormData(form)].map(([key, value]) => [key, String(value)]);
  return new URLSearchParams(pairs.filter(([, value]) => value !== "")).toString();
}

/** Shows what `draw` makes of the answer to a form. @param {string} id @param {(said: any) => string} draw */
function answers(id, draw) {
  let reading = new AbortController();
  byId(id).addEventListener("submit", async (event) => {
    event.preventDefault();
    // Whoever asks for another step does not wait for the last one any more, and its trace need not be read for it.
    reading.abort();
    reading = new AbortController();
    const { signal } = reading;
    const said = byId(`${id}-said`);
    said.textContent = "Reading the trace.";
    try {
      said.textContent = draw(await asked(`${api}/${id}?${query(/** @type {HTMLFormElement} */ (byId(id)))}`, signal));
    } catch (error) {
      if (!signal.aborted) said.textContent = /** @type {Error} */ (error).message;
    }
  });
}

answers("kernels", (said) => {
  fill("kernel-rows", said.kernels.map((row) => [time(row.start_ns), time(row.duration_ns), row.class, row.stream, row.name, row.operator ? treeLink(row.operator, said.rank, said.step) : ""]));
  const of = said.step === null ? "the trace" : `step ${said.step}, which takes ${time(said.length_ns)}`;
  const where = said.side === "host" ? " Nothing is recorded of devices: these are operators on the host." : "";
  return `${said.kernels.length} of ${said.count} kernels of ${of}.${where}`;
});
answers("operators", drawOperators);
answers("names", (said) => {
  fill("name-rows", said.names.map((row) => [time(row.total_ns), String(row.count), row.name]));
  return `${said.names.length} of ${said.count} names.`;
});
show().catch((error) => (byId("said").textContent = error.message));
