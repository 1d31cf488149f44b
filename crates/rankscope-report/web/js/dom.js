// Elements, the tooltip, and the two controls. Text goes in as text nodes, never as markup: names in traces are not trusted.

// A name may hold control characters or marks that turn the text around them; they show as what they are: not text.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g;
const visible = (child) => (typeof child === "string" ? child.replace(UNSEEN, "\ufffd") : child);

function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(element.style, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined).map(visible));
  return element;
}

// The page carries one empty <svg>'s namespace so that no address of it appears in the file.
function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(s.namespace, tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}
s.namespace = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;

const lead = (text) => h("p", { class: "lead" }, text);
const empty = (text) => h("p", { class: "empty" }, text);
const note = (text) => h("p", { class: "note" }, text);
const absent = (reason) => h("span", { class: "absent", title: reason, "aria-label": `not known: ${reason}` }, DASH);
const orAbsent = (value, format, reason) => (value === null || value === undefined || !Number.isFinite(value) ? absent(reason) : format(value));
const of = (n, m) => h("span", {}, formatCount(n), h("span", { class: "of" }, ` of ${formatCount(m)}`));

const tip = {
  element: document.getElementById("tip"),
  show(content, x, y) {
    this.element.replaceChildren(...[content].flat());
    this.element.hidden = false;
    const box = this.element.getBoundingClientRect();
    const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
    const top = y + 16 + box.height > innerHeight ? y - 12 - box.height : y + 16;
    this.element.style.left = `${Math.max(4, left)}px`;
    this.element.style.top = `${Math.max(4, top)}px`;
  },
  hide() {
    this.element.hidden = true;
  },
  // A heading and aligned rows of a name and its values.
  rows(title, pairs) {
    return [h("b", {}, title), h("table", {}, h("tbody", {}, ...pairs.map((cells) => h("tr", {}, ...cells.map((cell) => h("td", {}, cell))))))];
  },
  // Shows `content()` while the pointer or the focus is on the element.
  on(element, content) {
    element.addEventListener("pointermove", (event) => this.show(content(), event.clientX, event.clientY));
    element.addEventListener("pointerleave", () => this.hide());
    element.addEventListener("focus", () => {
      const box = element.getBoundingClientRect();
      this.show(content(), box.right, box.bottom - 10);
    });
    element.addEventListener("blur", () => this.hide());
    return element;
  },
};

// Runs `draw` once the window has stopped changing its size.
function onResize(draw) {
  let timer = 0;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(draw, 120);
  });
}

// Buttons of which one is pressed.
function segments(label, options, chosen, choose) {
  const buttons = options.map(([value, text]) => h("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => press(value) }, text));
  const press = (value) => {
    options.forEach(([option], i) => buttons[i].setAttribute("aria-pressed", String(option === value)));
    choose(value);
  };
  return h("div", { class: "segments", role: "group", "aria-label": label }, ...buttons);
}

function select(label, options, choose) {
  const element = h("select", { onchange: () => choose(element.value) }, ...options.map(([value, text]) => h("option", { value }, text)));
  return h("label", { class: "control" }, label, element);
}

// The section and the bar its heading stands in.
function section(id) {
  const body = document.getElementById(id);
  return { body, bar: body.querySelector(".bar") };
}
