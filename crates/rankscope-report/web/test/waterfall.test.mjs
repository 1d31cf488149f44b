import assert from "node:assert/strict";
import { test } from "node:test";
import { waterfallBars } from "../js/pure/waterfall.js";

const parts = (...deltas) => deltas.map((delta_ns) => ({ delta_ns }));

test("each bar begins where the one before it ends, and the last ends at the sum", () => {
  const bars = waterfallBars(parts(5, -3, 4, -1, 2), 10);
  assert.deepEqual(bars.map((bar) => [bar.from, bar.to]), [[0, 5], [5, 2], [2, 6], [6, 5], [5, 7]]);
});

test("what is not shown is one bar, so that the sum stays", () => {
  const bars = waterfallBars(parts(5, -3, 4, -1, 2), 2);
  assert.equal(bars.length, 3);
  assert.equal(bars[2].part, null);
  assert.equal(bars[2].to, 7);
});
