// The order of a table's rows.

const isMissing = (v) => v === null || v === undefined || Number.isNaN(v);

// The rows by `key`: words by the alphabet, numbers by size. Those without one come last either way, and equal ones keep their order.
export function ordered(rows, key, ascending) {
  const sign = ascending ? 1 : -1;
  return [...rows].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (isMissing(x) || isMissing(y)) return Number(isMissing(x)) - Number(isMissing(y));
    return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
  });
}

// Whether no row has more by `key` than the one before it.
export const isDescending = (rows, key) => rows.every((row, at) => at === 0 || key(row) <= key(rows[at - 1]));
