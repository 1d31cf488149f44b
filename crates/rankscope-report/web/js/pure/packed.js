// How Rust writes long lists into a page (src/html/packed.rs): integers as text, and records whose keys stand once.

// Integers, or null for what is absent. Each is the difference from the last one known, in bytes of seven bits.
/** @param {{ exact?: string, brief?: string }} packed @returns {(number | null)[]} */
export function unpacked(packed) {
  const isExact = packed.exact !== undefined;
  const bytes = atob(isExact ? packed.exact : packed.brief);
  const values = [];
  let [known, symbol, place] = [0, 0, 1];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes.charCodeAt(at);
    symbol += (byte % 128) * place;
    place *= 128;
    if (byte >= 128) continue;
    if (symbol > 0) known += symbol % 2 === 0 ? -symbol / 2 : (symbol - 1) / 2;
    values.push(symbol === 0 ? null : isExact ? known : threeDigits(known));
    [symbol, place] = [0, 1];
  }
  return values;
}

// Of a brief list: below a thousand the value, then three digits and 900 numbers for each power of ten.
function threeDigits(number) {
  const size = Math.abs(number);
  const value = size < 1000 ? size : (100 + (size - 1000) % 900) * 10 ** (1 + Math.floor((size - 1000) / 900));
  return number < 0 ? -value : value;
}

export const records = ({ keys, rows }) => rows.map((row) => Object.fromEntries(keys.map((key, at) => [key, row[at]])));

// A list of lists whose lengths are given, from one that has all of them.
export function lists(all, lengths) {
  let from = 0;
  return lengths.map((length) => all.slice(from, (from += length)));
}

// Records out of columns of the same length: { key: values }.
export function recordsOf(columns) {
  const keys = Object.keys(columns);
  return columns[keys[0]].map((_, at) => Object.fromEntries(keys.map((key) => [key, columns[key][at]])));
}
