// Canvases: the page's colours, a pen that draws sharp on any screen, and when to draw again.

const darkQuery = matchMedia("(prefers-color-scheme: dark)");
// Paper is light.
const printQuery = matchMedia("print");

export const theme = () => (darkQuery.matches && !printQuery.matches ? "dark" : "light");

export const cssVariable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function penOn(canvas, width, height, ratio = devicePixelRatio || 1) {
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = `11.5px ${getComputedStyle(document.body).fontFamily}`;
  return pen;
}

export function strokeLine(pen, x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

// A line on whole pixels is sharp.
export const sharp = (at) => Math.round(at) + 0.5;

// Runs `draw` when the colours change, and once the window has stopped changing its size.
export function onRedraw(draw) {
  let timer = 0;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(draw, 120);
  });
  darkQuery.addEventListener("change", () => draw());
  printQuery.addEventListener("change", () => draw());
}
