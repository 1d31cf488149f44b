// Random numbers that are the same in every run, and the lists that several laws are tried on.

// Numbers in [0, 1), by the generator mulberry32.
export function chance(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const below = (random, n) => Math.floor(random() * n);

// An ascending list, now and then with equal neighbours and with a long pause.
export function ascending(random, length) {
  const list = [];
  let t = random() * 1e6 - 5e5;
  for (let i = 0; i < length; i++) {
    list.push(t);
    t += random() < 0.1 ? 0 : random() < 0.1 ? 400 : 4 + random();
  }
  return list;
}
