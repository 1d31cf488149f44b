// A pen for what a chart shows besides its series, in pixels of the page from the plot's upper left corner.

// `picture` has the pen, the size of the plot, and where a time and a value are.
export function paintBeside(plot, paint) {
  const { ctx: pen, bbox } = plot;
  const ratio = devicePixelRatio || 1;
  const [width, height] = [bbox.width / ratio, bbox.height / ratio];
  pen.save();
  pen.scale(ratio, ratio);
  pen.translate(bbox.left / ratio, bbox.top / ratio);
  paint({ pen, width, height, x: (t) => plot.valToPos(t, "x"), y: (v) => plot.valToPos(v, "y") });
  pen.restore();
}
