// Draws every section. One that fails says so in its place and leaves the others standing.

function failed(id, error) {
  console.error(error);
  document.getElementById(id).append(h("p", { class: "banner" }, `This part could not be drawn: ${error.message}`));
}

const doc = JSON.parse(document.getElementById("document").textContent);
spell(doc.collectives);
const parts = { tiles: drawTiles, time: drawTime, steps: drawSteps, late: drawLate, collectives: drawCollectives, rank: drawRank, clocks: drawClocks, files: drawFiles };
for (const [id, draw] of doc.ranks.length > 0 ? Object.entries(parts) : []) {
  try {
    draw(doc);
  } catch (error) {
    failed(id, error);
  }
}
