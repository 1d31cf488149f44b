// The controls.
import { h } from "./dom.js";

// Buttons of which one is pressed.
export function segments(label, options, chosen, choose) {
  const buttons = options.map(([value, text]) => h("button", { type: "button", "aria-pressed": String(value === chosen), onclick: () => press(value) }, text));
  const press = (value) => {
    options.forEach(([option], i) => buttons[i].setAttribute("aria-pressed", String(option === value)));
    choose(value);
  };
  return h("div", { class: "segments", role: "group", "aria-label": label }, ...buttons);
}

export function select(label, options, choose) {
  const element = h("select", { onchange: () => choose(element.value) }, ...options.map(([value, text]) => h("option", { value }, text)));
  return h("label", { class: "control" }, label, element);
}

// Buttons that zoom into what is drawn, out of it, and back to the whole: `zoomBy(factor)` makes what is shown so many times as long.
export function zoomControls(zoomBy, whole) {
  const button = (text, title, factor, label = title) => h("button", { type: "button", class: "plain small", title, "aria-label": label, onclick: () => zoomBy(factor) }, text);
  return [button("+", "Zoom in", 0.5), button("−", "Zoom out", 2), button("All", `Show ${whole}`, Infinity, `All of ${whole.replace("the whole", "the")}`)];
}

// Calls `search` with what is typed, as it is typed.
export function searchBox(label, search) {
  return h("input", { type: "search", class: "search", placeholder: label, "aria-label": label, oninput: (event) => search(event.target.value.trim()) });
}

// Copies what `text` gives when it is pressed, and says so for a moment.
export function copyButton(label, text, title) {
  const button = h("button", { type: "button", class: "plain small", title, onclick: () => copy(text()).then((done) => said(done ? "Copied" : "Not copied"), () => said("Not copied")) }, label);
  const said = (word) => {
    button.textContent = word;
    setTimeout(() => { button.textContent = label; }, 1200);
  };
  return button;
}

// A page from disk may have no clipboard; a text field that is selected has.
async function copy(text) {
  if (navigator.clipboard && isSecureContext) return navigator.clipboard.writeText(text).then(() => true);
  const field = h("textarea", { class: "unseen", "aria-hidden": "true" });
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}
