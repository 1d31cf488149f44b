// "Open in Perfetto": in the UI that is served here, where there is one; else in that of ui.perfetto.dev, which is handed the timeline and
// sends it nowhere.

import { element } from "./dom.js";

const UI = "https://ui.perfetto.dev";

/** How long the UI has to load. */
const PATIENCE_MS = 60_000;

/** Asks the window until it answers, then hands the timeline over. @param {Window} opened @param {string} path @param {string} title */
async function hand(opened, path, title) {
  const timeline = await fetch(path, { credentials: "same-origin" });
  if (!timeline.ok) throw new Error((await timeline.json()).reason);
  const buffer = await timeline.arrayBuffer();
  await answered(opened);
  opened.postMessage({ perfetto: { buffer, title } }, UI, [buffer]);
}

/** Waits until the UI in the window listens; in vain where it was closed, or never loads. @param {Window} opened */
function answered(opened) {
  const begun = Date.now();
  return new Promise((resolve, reject) => {
    const asking = setInterval(() => {
      if (opened.closed) end(() => reject(new Error("its window was closed before it had the timeline")));
      else if (Date.now() - begun > PATIENCE_MS) end(() => reject(new Error(`${UI} does not answer: see how to serve the UI without a network`)));
      else opened.postMessage("PING", UI);
    }, 50);
    const hear = (/** @type {MessageEvent} */ event) => {
      if (event.source === opened && event.origin === UI && event.data === "PONG") end(() => resolve(undefined));
    };
    const end = (/** @type {() => void} */ done) => {
      clearInterval(asking);
      removeEventListener("message", hear);
      done();
    };
    addEventListener("message", hear);
  });
}

/**
 * A link or a button that opens the timeline at `path`, where `at`, arguments of the UI's address, says.
 * @param {string} path @param {string} title @param {boolean} viewer @param {string} at
 */
export function opener(path, title, viewer, at) {
  const there = at ? `&${at}` : "";
  if (viewer) {
    const href = `/perfetto/#!/?url=${encodeURIComponent(location.origin + path)}${there}`;
    return element("a", "open in Perfetto", { href });
  }
  const button = element("button", "open in Perfetto", { type: "button" });
  button.addEventListener("click", () => {
    const opened = open(at ? `${UI}/#!/?${at}` : UI);
    if (!opened) {
      button.textContent = "the browser keeps windows from being opened";
      return;
    }
    hand(opened, path, title).catch((error) => {
      opened.close();
      button.textContent = error.message;
    });
  });
  return button;
}
