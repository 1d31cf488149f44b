// Runs in a page that has been loaded: what it shows, and, unless `USED` is false, what happens when everything in it is used.
(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => done()));
  const all = (selector) => [...document.querySelectorAll(selector)];
  const used = (selector) => (USED ? all(selector) : []);
  const tip = document.getElementById("tip");
  let tips = 0;
  const answered = (element, event) => {
    element.dispatchEvent(event);
    if (!tip.hidden && tip.textContent.length > 0) tips += 1;
    tip.hidden = true;
  };
  const isBlank = (canvas) => {
    const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    return pixels.every((pixel) => pixel === pixels[0]);
  };
  // What is shown as a figure. Labels of axes and of colours are not.
  const FIGURES = "td:not(.name):not(.mono), .tile, .lead, .note, .card, .mean-step, .brief, #selected p";
  const figures = (part) => [...part.querySelectorAll(FIGURES)].map((one) => one.innerText);
  // A page holds nothing that reaches over its edge, except in boxes that scroll.
  const overflow = () => Math.max(document.documentElement.scrollWidth, document.body.scrollWidth) - innerWidth;

  await frame();
  await frame();
  // What is closed is no less promised.
  const closed = overflow();
  for (const part of all("details")) part.open = true;
  await new Promise((done) => setTimeout(done, 150));
  await frame();
  const texts = figures(document);
  const wide = [closed, overflow()];
  const blank = all("canvas").filter(isBlank).map((canvas) => canvas.getAttribute("aria-label"));
  for (const element of used("canvas, .stack, circle, .pieces span")) {
    const { left, top, width, height } = element.getBoundingClientRect();
    const at = { bubbles: true, clientX: left + width / 2, clientY: top + height / 2 };
    answered(element, new PointerEvent("pointermove", at));
    element.dispatchEvent(new PointerEvent("pointerleave"));
    if (element.tabIndex < 0) continue;
    answered(element, new FocusEvent("focus"));
    for (const key of ["ArrowRight", "ArrowDown", "ArrowLeft", "Tab"]) answered(element, new KeyboardEvent("keydown", { key }));
    element.dispatchEvent(new FocusEvent("blur"));
  }
  for (const choice of used("select")) {
    const part = choice.closest("section");
    // Another choice may have replaced the section with its controls.
    if (part === null) continue;
    for (const option of [...choice.options].slice(0, 20)) {
      choice.value = option.value;
      choice.dispatchEvent(new Event("change"));
      texts.push(...figures(part));
    }
  }
  for (const button of used("main button")) {
    const part = button.closest("section");
    // A click may have replaced the table with its buttons.
    if (part === null) continue;
    button.click();
    button.click();
    texts.push(...figures(part));
    wide.push(overflow());
  }
  dispatchEvent(new Event("beforeprint"));
  dispatchEvent(new Event("afterprint"));
  await frame();
  return {
    sections: Object.fromEntries(all("main section, main .tiles").map((one) => [one.id, one.innerText.length])),
    banners: all(".banner").map((one) => one.innerText),
    blank,
    canvases: all("canvas").length,
    tips,
    overflow: Math.max(...wide),
    paper: getComputedStyle(document.body).backgroundColor,
    texts: [...new Set(texts)],
  };
})()
