// Offsets of nodes over time, against each clock's own straight line or as measured, with the choice of what is drawn.
import { onRedraw } from "../canvas.js";
import { segments, select, zoomControls } from "../controls.js";
import { h, lead, section, swatches } from "../dom.js";
import { selection } from "../selection.js";
import { nodeColour } from "./colours.js";
import { offsetPlot } from "./plot.js";

const LEGEND_MOST = 24;

export function drawOffsets(nodes) {
  const { body, bar } = section("offsets");
  const chart = offsetPlot(nodes);
  const key = h("div", {}, legend(nodes));
  const choice = select("Nodes", [["all", "all"], ...nodes.map((node) => [String(node.node), `node ${node.node}`])], (node) => selection.choose({ node: node === "all" ? null : Number(node) }));
  bar.append(
    segments("What is drawn", [["stray", "Off its own line"], ["offset", "As measured"]], "stray", chart.how),
    choice, h("span", { class: "spacer" }), ...zoomControls(chart.zoom, "the whole run"));
  body.append(
    lead("Each clock relative to its own straight line between two steps, so that nanoseconds are visible; the band is the guaranteed bound of the offset. Rings mark degraded rounds, dotted lines mark steps. Point at a round, or use the arrow keys; a click or Enter selects it. Drag, or press + and -, to zoom; a double click or 0 shows all."),
    chart.element, key);
  chart.fit();
  selection.watch(({ node }) => {
    const shown = nodes.some((one) => one.node === node) ? String(node) : "all";
    choice.querySelector("select").value = shown;
    chart.node(shown);
  });
  onRedraw(() => key.replaceChildren(legend(nodes)));
}

function legend(nodes) {
  const entries = nodes.slice(0, LEGEND_MOST).map((node, i) => ({ colour: nodeColour(i), text: `node ${node.node}` }));
  return swatches(entries, ...(nodes.length > LEGEND_MOST ? [`and ${nodes.length - LEGEND_MOST} more`] : []));
}
