import assert from "node:assert/strict";
import test from "node:test";
import * as format from "../js/pure/format.js";
import { below, chance } from "./chance.mjs";

const { DASH, NBSP } = format;
const i64 = 2 ** 63;

test("a unit begins where three digits of the one below would not do", () => {
  const cases = [
    [0, "0"], [1, "1 ns"], [999, "999 ns"], [999.4, "999 ns"], [999.5, "1.00 µs"], [1000, "1.00 µs"], [9994, "9.99 µs"], [9995, "10.0 µs"],
    [99_949, "99.9 µs"], [99_950, "100 µs"], [999_499, "999 µs"], [999_500, "1.00 ms"], [999_499_999, "999 ms"], [999_500_000, "1.00 s"],
    [86_400e9, "86400 s"], [-1500, "−1.50 µs"], [-999_500, "−1.00 ms"], [i64, "9223372037 s"],
  ];
  for (const [ns, text] of cases) assert.equal(format.formatTime(ns), text.replace(" ", NBSP), `${ns} ns`);
});

test("what rounds to nothing has no sign", () => {
  assert.equal(format.formatTime(-0.2), `0${NBSP}ns`);
  assert.equal(format.formatRate(-1e-12), `0${NBSP}B/s`);
});

test("bytes are binary and rates decimal", () => {
  assert.equal(format.formatBytes(0), `0${NBSP}B`);
  assert.equal(format.formatBytes(999), `999${NBSP}B`);
  assert.equal(format.formatBytes(1000), `0.98${NBSP}KiB`);
  assert.equal(format.formatBytes(2 ** 20), `1.00${NBSP}MiB`);
  assert.equal(format.formatBytes(2 ** 53), `8192${NBSP}TiB`);
  assert.equal(format.formatRate(0.0009995), `1.00${NBSP}MB/s`);
  assert.equal(format.formatRate(231.4), `231${NBSP}GB/s`);
});

test("what is no number is a dash, never NaN", () => {
  for (const value of [null, undefined, NaN, Infinity, -Infinity]) {
    for (const one of [format.formatTime, format.formatBytes, format.formatRate]) assert.equal(one(value), DASH, `${one.name}(${value})`);
  }
  assert.equal(format.formatShare(1, 0), DASH);
  assert.equal(format.formatShare(1, NaN), DASH);
});

test("a formatted time is within half of its last digit", () => {
  const random = chance(1);
  const sizes = { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 };
  for (let i = 0; i < 5000; i++) {
    const ns = (random() < 0.5 ? -1 : 1) * Math.floor(10 ** (random() * 12) + 1);
    const [digits, unit] = format.formatTime(ns).split(NBSP);
    const decimals = (digits.split(".")[1] ?? "").length;
    const read = Number(digits.replace("−", "-")) * sizes[unit];
    assert.ok(Math.abs(read - ns) <= 0.501 * sizes[unit] / 10 ** decimals, `${ns} was written ${digits} ${unit}`);
    if (unit !== "s") assert.ok(digits.replace(/[−.]/g, "").length <= 3, `${digits} has more than three digits`);
  }
});

test("every nanosecond of an offset is written, and none that the number does not hold", () => {
  assert.equal(format.exact(0), `+0${NBSP}ns`);
  assert.equal(format.exact(-999_999), `−999999${NBSP}ns`);
  assert.equal(format.exact(1_000_000), `+0.001000000${NBSP}s`);
  assert.equal(format.exact(-5_000_034_692), `−5.000034692${NBSP}s`);
  assert.equal(format.exact(1_700_000_000_123_456_768), `+1700000000.12346${NBSP}s`);
  const random = chance(2);
  for (let i = 0; i < 2000; i++) {
    const ns = below(random, 2 ** 52);
    assert.equal(BigInt(format.exact(ns).replace(/[^0-9]/g, "")), BigInt(ns), String(ns));
  }
});

test("ranks as ranges name every rank once", () => {
  assert.equal(format.rankList([]), "");
  assert.equal(format.rankList([7]), "7");
  assert.equal(format.rankList([0, 1, 2, 3, 6]), "0–3, 6");
  assert.equal(format.rankList([0, 2, 4, 6, 8], 3), "0, 2, 4, 2 more");
  const random = chance(3);
  for (let i = 0; i < 300; i++) {
    const ranks = [...Array(40).keys()].filter(() => random() < 0.6);
    const named = format.rankList(ranks, 100).split(", ").filter(Boolean).flatMap((part) => {
      const [first, last = first] = part.split("–").map(Number);
      return Array.from({ length: last - first + 1 }, (_, k) => first + k);
    });
    assert.deepEqual(named, ranks);
  }
});

test("a column has the unit in which its largest has two digits", () => {
  assert.equal(format.columnUnit(0).unit, "ns");
  assert.equal(format.columnUnit(9_999).unit, "ns");
  assert.equal(format.columnUnit(10_000).unit, "µs");
  assert.equal(format.columnUnit(10_000_000).unit, "ms");
  assert.equal(format.columnUnit(10_000_000_000).unit, "s");
  assert.equal(format.columnUnit(-Infinity).unit, "ns", "of no values");
  assert.equal(format.columnUnit(12_345_678).text(12_345_678), "12.3");
});

test("one is singular", () => {
  assert.equal(format.plural(1, "rank"), "1 rank");
  assert.equal(format.plural(0, "rank"), "0 ranks");
  assert.equal(format.plural(1234, "round"), "1,234 rounds");
});
