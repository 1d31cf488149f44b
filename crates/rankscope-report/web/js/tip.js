// The tooltip: one for the page.
import { h } from "./dom.js";

const tipBox = document.getElementById("tip");

export const tip = {
  show(content, x, y) {
    tipBox.replaceChildren(...[content].flat());
    tipBox.hidden = false;
    const { width, height } = tipBox.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
    const top = y + 16 + height > innerHeight ? y - 12 - height : y + 16;
    tipBox.style.left = `${Math.max(4, left)}px`;
    tipBox.style.top = `${Math.max(4, top)}px`;
  },
  hide() {
    tipBox.hidden = true;
  },
  // A heading and aligned rows of a name and its values.
  rows(title, pairs) {
    return [h("b", {}, title), h("table", {}, h("tbody", {}, ...pairs.map((cells) => h("tr", {}, ...cells.map((cell) => h("td", {}, cell))))))];
  },
  // Shows `content()` while the pointer or the focus is on the element.
  on(element, content) {
    element.addEventListener("pointermove", (event) => this.show(content(), event.clientX, event.clientY));
    element.addEventListener("focus", () => {
      const { right, bottom } = element.getBoundingClientRect();
      this.show(content(), right, bottom - 10);
    });
    return this.hiddenAfter(element);
  },
  // Shows `content(x, y)` for the point of the element that the pointer is on; nothing where there is none.
  over(element, content) {
    element.addEventListener("pointermove", (event) => {
      const found = content(event.offsetX, event.offsetY);
      if (found) this.show(found, event.clientX, event.clientY);
      else this.hide();
    });
    return this.hiddenAfter(element);
  },
  hiddenAfter(element) {
    for (const end of ["pointerleave", "blur"]) element.addEventListener(end, () => this.hide());
    return element;
  },
};
