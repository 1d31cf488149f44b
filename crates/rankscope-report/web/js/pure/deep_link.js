// A selection in a link: #step=12&rank=5. What is no selection, such as the name of a section, stays one.

export const RANKS_AND_STEPS = ["step", "rank"];

const WHOLE = /^-?\d{1,15}$/;

// By each name null: what is selected at first.
export const nothing = (names) => Object.fromEntries(names.map((name) => [name, null]));

// By each name a number or null; null where the fragment is about something else.
export function selectionIn(fragment, names = RANKS_AND_STEPS) {
  const found = nothing(names);
  const parts = fragment.replace(/^#/, "").split("&").map((part) => part.split("="));
  for (const [key, value] of parts) if (Object.hasOwn(found, key) && WHOLE.test(value ?? "")) found[key] = Number(value);
  return Object.values(found).every((value) => value === null) ? null : found;
}

// Without a selection it is empty.
export function fragmentOf(selected) {
  const parts = Object.entries(selected).filter(([, value]) => value !== null).map(([key, value]) => `${key}=${value}`);
  return parts.length > 0 ? `#${parts.join("&")}` : "";
}
