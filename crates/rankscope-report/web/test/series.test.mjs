import assert from "node:assert/strict";
import test from "node:test";
import { breaks, longPause, nearest, prepared, runs, shownTime, verticalRange } from "../js/pure/series.js";
import { ticks } from "../js/pure/scale.js";
import { ascending, below, chance } from "./chance.mjs";

const node = (x, more = {}) => prepared({ x, lo: x.map(() => null), hi: x.map(() => null), steps: [], degraded: [], ...more });

test("the nearest round is the one that a look at all of them finds", () => {
  const random = chance(21);
  for (let i = 0; i < 2000; i++) {
    const list = ascending(random, 1 + below(random, 12));
    const t = random() < 0.3 ? list[below(random, list.length)] : list[0] - 10 + random() * (list[list.length - 1] - list[0] + 20);
    const least = Math.min(...list.map((one) => Math.abs(one - t)));
    assert.equal(Math.abs(list[nearest(list, t)] - t), least, `${t} in ${list}`);
  }
  assert.equal(nearest([4], 1e9), 0);
  assert.equal(nearest([0, 10], 5), 0, "the earlier of two");
});

test("a pause is long from two and a half times the middle one", () => {
  const random = chance(22);
  for (let i = 0; i < 500; i++) {
    const list = ascending(random, 2 + below(random, 20));
    const pauses = list.slice(1).map((t, k) => t - list[k]);
    // Slowly: the pause that at most half of the others are below, and fewer than half above.
    const middle = pauses.find((one) => pauses.filter((p) => p < one).length <= pauses.length / 2 && pauses.filter((p) => p <= one).length > pauses.length / 2);
    assert.equal(longPause(list), 2.5 * middle);
  }
  assert.equal(longPause([]), Infinity);
  assert.equal(longPause([3]), Infinity);
});

test("runs hold every round that counts, once, and end at steps, pauses and rounds that do not count", () => {
  const random = chance(23);
  for (let i = 0; i < 800; i++) {
    const x = ascending(random, below(random, 25));
    const one = node(x, { steps: [...x.keys()].filter(() => random() < 0.1) });
    const counts = new Set([...x.keys()].filter(() => random() < 0.8));
    const found = runs(one, (k) => counts.has(k));
    assert.deepEqual(found.flat(), [...counts]);
    const isCut = (k) => one.stepAt.has(k) || x[k] - x[k - 1] > one.pause || !counts.has(k - 1);
    for (const run of found) assert.ok(run.length > 0 && run.every((k, at) => at === 0 || !isCut(k)), `${run} goes on too long`);
    for (const run of found) assert.ok(run[0] === 0 || isCut(run[0]), `${run} begins too late`);
  }
});

test("a plot holds every line, and all bounds but the widest one in twenty", () => {
  const random = chance(24);
  for (let i = 0; i < 300; i++) {
    const x = ascending(random, 1 + below(random, 60));
    const value = (one, k) => one.stray[k];
    const one = node(x, { stray: x.map(() => below(random, 2000) - 1000), lo: x.map(() => -below(random, 500)), hi: x.map(() => (random() < 0.1 ? null : below(random, 5000))) });
    const [lo, hi] = verticalRange([one], value);
    assert.ok(one.stray.every((v) => v > lo && v < hi));
    const reaches = [...one.lo, ...one.hi].filter((v) => v !== null).map(Math.abs);
    const room = Math.min(hi - Math.max(...one.stray), Math.min(...one.stray) - lo);
    assert.ok(reaches.filter((v) => v > room).length <= 1 + reaches.length / 20);
  }
  assert.deepEqual(verticalRange([], () => 0), [-1, 1]);
});

test("a plot has a height whatever the offset", () => {
  for (const offset of [0, 5, -1e9, 1.7e18, 2 ** 63, -(2 ** 63)]) {
    for (const spread of [0, 1, 300, 2000]) {
      const one = node([0, 4, 8], { offset: [offset, offset + spread, offset] });
      const [lo, hi] = verticalRange([one], (n, k) => n.offset[k]);
      assert.ok(lo < offset && hi > offset + spread && Number.isFinite(hi - lo), `${lo} to ${hi} for ${offset}`);
      assert.ok(ticks(lo, hi).length <= 10);
    }
  }
});

test("no line goes where a run ends and the next begins, and one goes everywhere else", () => {
  const random = chance(25);
  for (let i = 0; i < 800; i++) {
    const x = ascending(random, below(random, 25));
    const one = node(x, { steps: [...x.keys()].filter(() => random() < 0.1) });
    const counts = new Set([...x.keys()].filter(() => random() < 0.8));
    const joined = new Set(runs(one, (k) => counts.has(k)).flatMap((run) => run.slice(1)));
    const found = breaks(one, (k) => counts.has(k));
    const isCut = (k) => found.some(([from, to]) => from <= x[k - 1] && x[k] <= to);
    for (const k of x.keys()) if (k > 0 && x[k] > x[k - 1]) assert.equal(isCut(k), !joined.has(k), `to ${k} of ${x} in ${JSON.stringify(found)}`);
    for (const [at, [from, to]] of found.entries()) assert.ok(from <= to && (at === 0 || found[at - 1][1] < from), "ascending and apart");
  }
});

test("what lies outside of the time that is shown does not stretch the plot", () => {
  const one = node([0, 4, 8, 12], { stray: [5_000_000, 3, -3, 1], lo: [-9_000_000, -10, -10, -10], hi: [9_000_000, 10, 10, 10] });
  const [lo, hi] = verticalRange([one], (n, k) => n.stray[k], [4, 12]);
  assert.ok(lo > -30 && hi < 30 && lo < -13 && hi > 13, `${lo} to ${hi}`);
  assert.deepEqual(verticalRange([one], (n, k) => n.stray[k], [5, 7]), [-1, 1], "no round at all");
});

test("one point alone lies in the middle, and what is zoomed is shown", () => {
  assert.deepEqual(shownTime(1, 0, 100, [7, 7]), [6.5, 7.5]);
  assert.deepEqual(shownTime(9, null, null, [0, 30]), [0, 30]);
  assert.deepEqual(shownTime(9, 3, 4, [0, 30]), [3, 4]);
  assert.deepEqual(shownTime(9, 3, 3, [0, 30]), [2.5, 3.5]);
});
