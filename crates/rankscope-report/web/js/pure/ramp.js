// One hue from little to much, for canvases: lightness strictly monotone, so that it reads the same with any colour vision and in
// greyscale. More is further from the paper.

export const RAMPS = {
  light: [[238, 243, 249], [164, 200, 229], [62, 136, 191], [8, 74, 130], [4, 32, 66]],
  dark: [[27, 35, 45], [25, 67, 108], [41, 116, 175], [120, 180, 230], [224, 240, 255]],
};

// Two hues around a middle that is nearly the paper: less is blue, more is vermilion, which no colour vision mixes up.
export const DIVERGING = {
  light: [[0, 84, 150], [110, 168, 214], [243, 243, 240], [238, 152, 92], [178, 58, 0]],
  dark: [[120, 190, 245], [42, 100, 150], [34, 38, 44], [168, 82, 28], [255, 160, 92]],
};

// The ends of a diverging scale: as far below zero as above, cut where three values in a thousand would be alone.
export function divergingRange(values) {
  const sizes = Float64Array.from(values, Math.abs).sort();
  if (sizes.length === 0) return { lo: 0, hi: 0, below: false, above: false };
  const most = sizes[sizes.length - 1];
  const reach = Math.min(most, Math.max(1, sizes[Math.floor(0.997 * (sizes.length - 1))]));
  return { lo: -reach, hi: reach, below: values.some((value) => value < -reach), above: values.some((value) => value > reach) };
}

export function rampColour(colours, t) {
  const x = Math.min(1, Math.max(0, t)) * (colours.length - 1);
  const i = Math.min(colours.length - 2, Math.floor(x));
  return cssColour(colours[i].map((c, k) => Math.round(c + (colours[i + 1][k] - c) * (x - i))));
}

export const rampGradient = (colours) => `linear-gradient(to right, ${colours.map(cssColour).join(", ")})`;

const cssColour = (rgb) => `rgb(${rgb})`;

// The ends of a colour scale. A first step ten times as long would leave the others one colour, so beyond twice the middle
// spread the scale is cut and says so.
export function colourRange(values) {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return { lo: 0, hi: 0, below: false, above: false };
  const at = (q) => sorted[Math.round(q * (sorted.length - 1))];
  const reach = 2 * (at(0.9) - at(0.1));
  const [min, max] = [sorted[0], sorted[sorted.length - 1]];
  const lo = Math.max(min, at(0.1) - reach);
  const hi = Math.min(max, at(0.9) + reach);
  return hi > lo ? { lo, hi, below: min < lo, above: max > hi } : { lo: min, hi: max, below: false, above: false };
}

// Where a value stands between the ends, as a share; in a range without width everything has the same colour.
export const within = ({ lo, hi }, v) => (hi > lo ? (v - lo) / (hi - lo) : 0.3);
