// The values of all steps of base and test, one after the other, with the medians; beside them how often the values that are shown occur.
import { cssVariable, strokeLine } from "../canvas.js";
import { formatCount, formatTime } from "../pure/format.js";
import { histogram } from "../pure/histogram.js";
import { extent, padded } from "../pure/scale.js";
import { seriesChart } from "../series/chart.js";
import { tip } from "../tip.js";
import { inUnit, isKnown } from "./figures.js";

const HEIGHT = 260;
const BINS = 24;
const COLOURS = ["--faint", "--accent"];
// Pixels between the plot and the histogram, and after it.
const APART = 16;

// `sides` are the values of base and test, `medians` theirs where they are known. There is at least one value.
export function stepsChart(sides, medians) {
  const last = Math.max(...sides.map((values) => values.length));
  const places = Array.from({ length: last }, (_, i) => i + 1);
  // As wide as a phone leaves room for.
  const right = Math.round(Math.min(220, document.documentElement.clientWidth * 0.22));
  const valuesIn = ([from, to]) => sides.map((values) => values.slice(Math.max(0, Math.ceil(from) - 1), Math.floor(to)));
  const view = { range: padded(extent(sides.flat())), shown: sides };
  return seriesChart({
    label: "Values of the steps of base and test; arrow keys read steps, + and - zoom",
    height: HEIGHT,
    right,
    whole: [1, last],
    data: [places, ...sides.map((values) => places.map((_, i) => values[i] ?? null))],
    series: COLOURS.map(dotsOf),
    across: (at) => at.map((place) => (Number.isInteger(place) ? formatCount(place) : "")),
    up: (values) => values.map((value) => formatTime(value)),
    range: (shown) => {
      view.shown = valuesIn(shown);
      view.range = padded(extent(view.shown.flat()));
      return view.range;
    },
    stops: () => places,
    read: (place) => tip.rows(`Step ${place} of those compared`, [["base", inUnit("ns", sides[0][place - 1])], ["test", inUnit("ns", sides[1][place - 1])]]),
    paint: (picture) => paintSpread(picture, right, view, medians),
  });
}

/** @returns {uPlot.Series} */
function dotsOf(name) {
  const colour = () => cssVariable(name);
  return { stroke: colour, paths: () => null, alpha: 0.65, points: { show: true, size: 5, width: 0, fill: colour, stroke: colour } };
}

function paintSpread({ pen, width, height, y }, right, { range, shown }, medians) {
  const [begin, room] = [width + APART, right - 2 * APART];
  shown.forEach((values, side) => {
    pen.strokeStyle = pen.fillStyle = cssVariable(COLOURS[side]);
    pen.beginPath();
    pen.moveTo(begin, height);
    for (const [much, up] of histogram(values, range, BINS)) pen.lineTo(begin + much * room, height * (1 - up));
    pen.lineTo(begin, 0);
    pen.closePath();
    pen.globalAlpha = 0.25;
    pen.fill();
    pen.globalAlpha = 1;
    pen.lineWidth = 1;
    pen.stroke();
  });
  pen.setLineDash([6, 4]);
  pen.lineWidth = 1.5;
  medians.forEach((median, side) => {
    const at = isKnown(median) ? y(median) : -1;
    if (at < 0 || at > height) return;
    pen.strokeStyle = cssVariable(COLOURS[side]);
    strokeLine(pen, 0, at, begin + room, at);
  });
  pen.setLineDash([]);
}
