// Bars of a waterfall: each part goes on where the one before it ends.

// The first `most` parts, what the others sum up to, and where each bar begins and ends, from 0 on.
export function waterfallBars(parts, most) {
  const shown = parts.slice(0, most).map((part) => ({ part, delta: part.delta_ns }));
  const rest = parts.slice(most);
  if (rest.length > 0) shown.push({ part: null, delta: rest.reduce((sum, part) => sum + part.delta_ns, 0) });
  let level = 0;
  return shown.map(({ part, delta }) => {
    const from = level;
    level += delta;
    return { part, delta, from, to: level };
  });
}
