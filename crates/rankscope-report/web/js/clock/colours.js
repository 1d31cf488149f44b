// The colours of nodes, told apart with any colour vision; a ninth node takes the first colour again, dashed.
import { theme } from "../canvas.js";

const COLOURS = {
  light: ["#0072b2", "#d55e00", "#009e73", "#a6398c", "#8a6d00", "#3a8fc4", "#b3261e", "#5b6470"],
  dark: ["#5ab4f0", "#ff9447", "#35d0a0", "#e58fd0", "#e0c050", "#9fd3f7", "#ff8a80", "#aab3bd"],
};

export const nodeColour = (i) => COLOURS[theme()][i % COLOURS.light.length];

export const isDashed = (i) => i >= COLOURS.light.length;
