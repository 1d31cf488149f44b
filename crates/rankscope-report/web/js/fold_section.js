// Sections that are closed until someone asks: by a click, by a link to them, by a search in the page, or by printing.
import { h } from "./dom.js";

// Closes a section behind its heading and a line; one that is folded gets another line. One that holds what went wrong stays open.
export function foldSection(id, brief) {
  const body = document.getElementById(id);
  if (body === null) return;
  const folded = body.querySelector(":scope > details.fold > summary > .brief");
  if (folded !== null) return folded.replaceChildren(brief);
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
    const target = /^#[\w-]+$/.test(hash) ? document.getElementById(hash.slice(1)) : null;
    const folded = target?.querySelector(":scope > details.fold") ?? target?.closest("details");
    if (!(folded instanceof HTMLDetailsElement)) return;
    folded.open = true;
    target.scrollIntoView();
  };
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
    if (link) reveal(link.getAttribute("href"));
  });
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
