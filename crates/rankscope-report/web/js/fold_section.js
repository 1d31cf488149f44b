// Sections that are closed until someone asks: by a click, by a link to them, by a search in the page, or by printing.
import { h } from "./dom.js";

// Closes a section behind its heading and a line. One that holds what went wrong stays open.
export function foldSection(id, brief) {
  const body = document.getElementById(id);
  if (body === null) return;
  const heading = body.querySelector("h2");
  const parts = [...body.childNodes];
  const details = h("details", { class: "fold", open: body.querySelector(".banner") === null ? null : "" }, h("summary", {}, heading, h("span", { class: "brief" }, brief)));
  details.append(...parts);
  body.append(details);
  // What was drawn without a width is drawn again.
  details.addEventListener("toggle", () => details.open && dispatchEvent(new Event("resize")));
}

export function openWhatIsAskedFor() {
  const reveal = (hash) => {
    const target = /^#[\w-]+$/.test(hash) ? document.querySelector(`section${hash} > details`) : null;
    if (!(target instanceof HTMLDetailsElement)) return;
    target.open = true;
    target.scrollIntoView();
  };
  for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", () => reveal(new URL(link.getAttribute("href"), location.href).hash));
  addEventListener("hashchange", () => reveal(location.hash));
  reveal(location.hash);
  const opened = [];
  addEventListener("beforeprint", () => {
    opened.push(...document.querySelectorAll("details:is(.fold, .in-words):not([open])"));
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of opened.splice(0)) details.open = false;
  });
}
