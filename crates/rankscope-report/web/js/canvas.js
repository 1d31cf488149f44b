// Canvases: the page's colours, and a pen that draws sharp on any screen.

const darkQuery = matchMedia("(prefers-color-scheme: dark)");

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function penOn(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = `11.5px ${getComputedStyle(document.body).fontFamily}`;
  return pen;
}
