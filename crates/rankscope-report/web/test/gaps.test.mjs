import assert from "node:assert/strict";
import test from "node:test";
import { concerns, gapPlaces, gapsOf, nearestPoint } from "../js/pure/gaps.js";
import { below, chance } from "./chance.mjs";

const anyGap = (random) => ({ at_ns: random() < 0.1 ? null : below(random, 1e9), gap_ns: random() < 0.1 ? null : below(random, 10 ** below(random, 10)), rank: below(random, 8), other: null });

test("only what has a time and a size is drawn, and inside of the box", () => {
  const random = chance(9);
  for (let i = 0; i < 200; i++) {
    const gaps = gapsOf(Array.from({ length: 1 + below(random, 40) }, () => anyGap(random)));
    assert.ok(gaps.every((one) => one.at_ns !== null && one.gap_ns > 0));
    if (gaps.length === 0) continue;
    const { points } = gapPlaces(gaps, 800, 200);
    assert.ok(points.every(([x, y]) => x >= 0 && x <= 800 && y >= 0 && y <= 200), String(points));
    gaps.forEach((one, a) => gaps.forEach((other, b) => {
      if (one.gap_ns > other.gap_ns) assert.ok(points[a][1] < points[b][1], "a larger gap is higher");
      if (one.at_ns > other.at_ns) assert.ok(points[a][0] > points[b][0], "a later one is further right");
    }));
  }
});

test("the nearest point is no further than any other", () => {
  const random = chance(10);
  for (let i = 0; i < 200; i++) {
    const points = Array.from({ length: 1 + below(random, 20) }, () => [below(random, 100), below(random, 100)]);
    const [x, y] = [below(random, 100), below(random, 100)];
    const far = ([px, py]) => (px - x) ** 2 + (py - y) ** 2;
    assert.equal(far(points[nearestPoint(points, x, y)]), Math.min(...points.map(far)));
  }
  assert.deepEqual(gapPlaces([{ at_ns: 5, gap_ns: 7 }], 100, 50).points[0][0], 50);
});

test("a finding concerns both of its ranks", () => {
  assert.ok(concerns({ rank: 3, other: 5 }, 5) && concerns({ rank: 3, other: null }, 3) && !concerns({ rank: 3, other: 5 }, 4));
});
