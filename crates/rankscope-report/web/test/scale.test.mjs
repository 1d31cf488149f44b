import assert from "node:assert/strict";
import test from "node:test";
import { RAMPS, colourRange, rampColour, within } from "../js/pure/ramp.js";
import { BINARY, extent, labelEvery, logarithmic, ticks } from "../js/pure/scale.js";
import { below, chance } from "./chance.mjs";

function isTicked(lo, hi) {
  const list = ticks(lo, hi);
  assert.ok(list.length >= 2 && list.length <= 7, `${list.length} ticks from ${lo} to ${hi}`);
  assert.ok(list.every((tick) => tick >= lo && tick <= hi), `${list} leave ${lo} to ${hi}`);
  assert.ok(list.slice(1).every((tick, i) => tick > list[i]), `${list} do not ascend`);
  // The step, from a difference that carries little rounding: no gap, and none missing at either end.
  const step = (list[list.length - 1] - list[0]) / (list.length - 1);
  assert.ok(list[0] - lo < step * 1.000001 && hi - list[list.length - 1] < step * 1.000001, `${list} do not cover ${lo} to ${hi}`);
  assert.match((step * 1.0000001).toExponential(3), /^(1|2|5)\.000e/, `the step ${step} is not round`);
}

test("ticks are few, round, ascending, and cover the range", () => {
  const random = chance(11);
  for (let i = 0; i < 5000; i++) {
    const size = 10 ** (random() * 18 - 6);
    const lo = (random() - 0.5) * size * (random() < 0.3 ? 100 : 1);
    isTicked(lo, lo + size * (0.01 + random()));
  }
  for (const [lo, hi] of [[0, 1], [-1, 1], [0, 6], [-3, 4], [0, 0.006], [1e15, 1e15 + 6000]]) isTicked(lo, hi);
});

test("a range without width, or without ends, has no ticks", () => {
  for (const [lo, hi] of [[5, 5], [0, 0], [2, 1], [NaN, 1], [0, NaN], [-Infinity, 1], [0, Infinity]]) assert.deepEqual(ticks(lo, hi), []);
});

test("ticks end where neighbouring numbers are further apart than they", () => {
  for (const lo of [2 ** 53, 1.7e18, 2 ** 63, -(2 ** 63)]) {
    for (const width of [1, 10, 300, 1000, 5000]) {
      const list = ticks(lo, lo + width);
      assert.ok(list.length <= 10 && list.slice(1).every((tick, i) => tick > list[i]), `${list} from ${lo}, ${width} wide`);
    }
  }
});

test("the extent is that of a sorted list", () => {
  assert.deepEqual(extent([]), [Infinity, -Infinity]);
  assert.deepEqual(extent([7]), [7, 7]);
  assert.deepEqual(extent([NaN, 2, NaN, 1]), [1, 2], "what is no number has no place in it");
  const random = chance(12);
  const values = Array.from({ length: 200_000 }, () => below(random, 2 ** 50) - 2 ** 49);
  const sorted = [...values].sort((a, b) => a - b);
  assert.deepEqual(extent(values), [sorted[0], sorted[sorted.length - 1]]);
});

test("labels have room, and as many are written as have", () => {
  for (const steps of [undefined, BINARY]) {
    for (let pitch = 1; pitch < 60; pitch++) {
      const every = labelEvery(4000, pitch, 34, steps);
      assert.ok(every * pitch >= 34);
      assert.ok(every === 1 || every * pitch < 34 * 2.5, `${every} at ${pitch} pixels`);
    }
  }
  assert.equal(labelEvery(9, 0.001, 34), 9, "the first alone");
  assert.equal(labelEvery(0, 0.001, 34), 1, "of nothing, a step that ends a loop");
});

test("a logarithmic axis holds its values between its first and last mark", () => {
  const random = chance(13);
  for (const base of [10, 16]) {
    for (let i = 0; i < 300; i++) {
      const values = Array.from({ length: 1 + below(random, 5) }, () => 10 ** (random() * 12 - 3));
      const { marks, at } = logarithmic(values, base);
      assert.ok(Math.abs(at(marks[0])) < 1e-9);
      assert.ok(Math.abs(at(marks[marks.length - 1]) - 1) < 1e-9);
      assert.ok(marks.length >= 2 && values.every((v) => at(v) > 0 && at(v) < 1), `${values} on ${marks}`);
    }
  }
});

test("a colour scale is cut only where something stands far apart", () => {
  const usual = Array.from({ length: 50 }, (_, i) => 100 + i);
  assert.deepEqual(colourRange(usual), { lo: 100, hi: 149, below: false, above: false });
  const { lo, hi, below: isBelow, above } = colourRange([...usual, 10_000]);
  assert.ok(lo === 100 && hi > 149 && hi < 300 && !isBelow && above);
  assert.deepEqual(colourRange([3]), { lo: 3, hi: 3, below: false, above: false });
  assert.deepEqual(colourRange([5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 9]), { lo: 5, hi: 9, below: false, above: false });
  assert.deepEqual(colourRange([]), { lo: 0, hi: 0, below: false, above: false });
  assert.deepEqual([0, 5, 10].map((v) => within({ lo: 0, hi: 10 }, v)), [0, 0.5, 1]);
  assert.equal(within({ lo: 4, hi: 4 }, 4), 0.3);
});

test("more is further from the paper, in every step", () => {
  const light = (rgb) => rgb.match(/\d+/g).map(Number).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  for (const [theme, way] of [["light", -1], ["dark", 1]]) {
    const shades = Array.from({ length: 41 }, (_, i) => light(rampColour(RAMPS[theme], i / 40)));
    assert.ok(shades.slice(1).every((shade, i) => (shade - shades[i]) * way > 0), `${theme}: ${shades}`);
    assert.equal(rampColour(RAMPS[theme], -1), rampColour(RAMPS[theme], 0));
    assert.equal(rampColour(RAMPS[theme], 2), rampColour(RAMPS[theme], 1));
  }
});
