// Elements. Text goes in as text nodes, never as markup: names in traces are not trusted.
import { DASH, formatCount } from "./pure/format.js";

// A name may hold control characters or marks that turn the text around them; they show as what they are: not text.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g;
const visible = (child) => (typeof child === "string" ? child.replace(UNSEEN, "\ufffd") : child);

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(element.style, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined).map(visible));
  return element;
}

// The parser knows the namespace of <svg>, so that no address of it appears in the file.
const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").querySelector("svg").namespaceURI;

export function svgElement(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.map(visible));
  return element;
}

// A box for what is wider than the window; keys scroll it, too.
export const scrollBox = (label, wide) => h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, wide);

export const lead = (text) => h("p", { class: "lead" }, text);
export const empty = (text) => h("p", { class: "empty" }, text);
export const note = (text) => h("p", { class: "note" }, text);
export const absent = (reason) => h("span", { class: "absent", title: reason, "aria-label": `not known: ${reason}` }, DASH);
export const orAbsent = (value, format, reason) => (value === null || value === undefined || !Number.isFinite(value) ? absent(reason) : format(value));
export const outOf = (n, m) => h("span", {}, formatCount(n), h("span", { class: "of" }, ` of ${formatCount(m)}`));

// A bar as long as its share of the largest.
export const levelBar = (value, largest, css) => h("div", { class: `level ${css}`, style: { width: `${largest > 0 ? value / largest * 100 : 0}%`, visibility: value > 0 ? "visible" : "hidden" } });

// A legend of swatches: each entry has a class or a colour, and a text.
export function swatches(entries, ...more) {
  const swatch = ({ css, colour }) => h("span", { class: css ? `swatch ${css}` : "swatch", style: colour ? { background: colour } : {} });
  return h("ul", { class: "legend" }, ...entries.map((entry) => h("li", {}, swatch(entry), entry.text)), ...more.map((text) => h("li", {}, text)));
}

// The section and the bar its heading stands in.
export function section(id) {
  const body = document.getElementById(id);
  return { body, bar: body.querySelector(".bar") };
}
