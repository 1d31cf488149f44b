// Elements with text in them: nothing that comes from a run is ever markup.

// A name may hold control characters or marks that turn the text around them; they show as what they are: not text.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g;

/** @param {string} tag @param {string} text @param {Record<string, string>} [attributes] */
export function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text.replace(UNSEEN, "\ufffd");
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** @param {string} id */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

/** What the server says to `path`; where it refuses, an error with its reason. @param {string} path @param {AbortSignal} [signal] */
export async function asked(path, signal) {
  const response = await fetch(path, { credentials: "same-origin", signal });
  const said = await response.json();
  if (!response.ok) throw new Error(said.reason);
  return said;
}

/** Fills the rows of a table. @param {string} id @param {(Node | string)[][]} rows */
export function fill(id, rows) {
  const table = byId(id);
  const body = table.querySelector("tbody");
  if (!body) throw new Error(`${id} has no rows`);
  body.replaceChildren(
    ...rows.map((cells) => {
      const row = document.createElement("tr");
      row.append(
        ...cells.map((cell) => {
          const made = document.createElement("td");
          made.append(cell);
          return made;
        }),
      );
      return row;
    }),
  );
  table.hidden = rows.length === 0;
}

/** Nanoseconds as people read them. @param {number} ns */
export function time(ns) {
  const size = Math.abs(ns);
  if (size < 1e3) return `${ns} ns`;
  if (size < 1e6) return `${(ns / 1e3).toPrecision(3)} us`;
  if (size < 1e9) return `${(ns / 1e6).toPrecision(3)} ms`;
  return `${(ns / 1e9).toPrecision(3)} s`;
}

/** Bytes as people read them. @param {number} bytes */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1 << 20) return `${(bytes / 1024).toPrecision(3)} KiB`;
  return `${(bytes / (1 << 20)).toPrecision(3)} MiB`;
}
