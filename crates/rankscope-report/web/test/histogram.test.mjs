import assert from "node:assert/strict";
import test from "node:test";
import { histogram } from "../js/pure/histogram.js";
import { padded } from "../js/pure/scale.js";
import { below, chance } from "./chance.mjs";

test("an outline rises without a gap, and its longest part is the most frequent value", () => {
  const random = chance(31);
  for (let i = 0; i < 300; i++) {
    const values = Array.from({ length: 1 + below(random, 200) }, () => below(random, 50));
    const corners = histogram(values, [0, 50], 10);
    assert.equal(corners.length, 20);
    assert.equal(Math.max(...corners.map(([much]) => much)), 1);
    assert.ok(corners.every(([, up], k) => k === 0 || up >= corners[k - 1][1]));
    const count = (bin) => values.filter((v) => Math.min(9, Math.floor(v / 5)) === bin).length;
    const most = Math.max(...Array.from({ length: 10 }, (_, bin) => count(bin)));
    for (let bin = 0; bin < 10; bin++) assert.equal(corners[2 * bin][0], count(bin) / most);
  }
});

test("what is outside of the range is not counted, and nothing is an outline, too", () => {
  assert.deepEqual(histogram([-5, 100], [0, 10], 1), [[0, 0], [0, 1]]);
  assert.deepEqual(histogram([], [0, 10], 1), [[0, 0], [0, 1]]);
});

test("room is left on both sides of any extent", () => {
  for (const [lo, hi] of [[0, 0], [5, 5], [-3, 1e12], [1.7e18, 1.7e18]]) {
    const [from, to] = padded([lo, hi]);
    assert.ok(from < lo && to > hi, `${from} to ${to} around ${lo} to ${hi}`);
  }
  assert.deepEqual(padded([Infinity, -Infinity]), [0, 1]);
});
