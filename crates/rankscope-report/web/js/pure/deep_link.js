// A selection in a link: #step=12&rank=5. What is no selection, such as the name of a section, stays one.

const WHOLE = /^-?\d{1,15}$/;

// { step, rank }, each a number or null; null where the fragment is about something else.
export function selectionIn(fragment) {
  const found = { step: null, rank: null };
  const parts = fragment.replace(/^#/, "").split("&").map((part) => part.split("="));
  for (const [key, value] of parts) if (Object.hasOwn(found, key) && WHOLE.test(value ?? "")) found[key] = Number(value);
  return found.step === null && found.rank === null ? null : found;
}

// Without a selection it is empty.
export function fragmentOf({ step, rank }) {
  const parts = [["step", step], ["rank", rank]].filter(([, value]) => value !== null).map(([key, value]) => `${key}=${value}`);
  return parts.length > 0 ? `#${parts.join("&")}` : "";
}
