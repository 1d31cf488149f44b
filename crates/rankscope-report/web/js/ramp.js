// One hue from little to much, for canvases: lightness strictly monotone, so that it reads the same with any colour vision and in
// greyscale. More is further from the paper.
const RAMPS = {
  light: [[238, 243, 249], [164, 200, 229], [62, 136, 191], [8, 74, 130], [4, 32, 66]],
  dark: [[27, 35, 45], [25, 67, 108], [41, 116, 175], [120, 180, 230], [224, 240, 255]],
};

function rampColour(ramp, t) {
  const x = Math.min(1, Math.max(0, t)) * (ramp.length - 1);
  const i = Math.min(ramp.length - 2, Math.floor(x));
  return ramp[i].map((c, k) => Math.round(c + (ramp[i + 1][k] - c) * (x - i)));
}
