import assert from "node:assert/strict";
import test from "node:test";
import { arrivals, nearestDot } from "../js/pure/arrivals.js";
import { binName, trafficBins } from "../js/pure/bins.js";
import { foldRows } from "../js/pure/fold.js";
import { isDescending, ordered } from "../js/pure/order.js";
import { spelled } from "../js/pure/spelling.js";
import { below, chance } from "./chance.mjs";

test("rows ascend or descend, those without a key are last, and equal ones keep their order", () => {
  const random = chance(31);
  const absent = [null, undefined, NaN];
  for (let i = 0; i < 400; i++) {
    const rows = Array.from({ length: below(random, 20) }, (_, place) => ({ place, key: random() < 0.2 ? absent[below(random, 3)] : below(random, 6) - 3 }));
    const known = (row) => typeof row.key === "number" && !Number.isNaN(row.key);
    for (const way of [1, -1]) {
      const slow = [...rows.filter(known).sort((a, b) => way * (a.key - b.key) || a.place - b.place), ...rows.filter((row) => !known(row))];
      assert.deepEqual(ordered(rows, (row) => row.key, way === 1), slow);
    }
  }
  assert.deepEqual(ordered(["b", "a", "ä"], (word) => word, true), ["a", "ä", "b"]);
  const rows = [2, 1];
  ordered(rows, (n) => n, true);
  assert.deepEqual(rows, [2, 1], "the rows themselves stay");
});

test("rows descend where each has no more than the one before it", () => {
  const worth = (one) => one.worth;
  const rows = (...worths) => worths.map((worth) => ({ worth }));
  for (const down of [rows(), rows(3), rows(3, 3, 1)]) assert.equal(isDescending(down, worth), true);
  for (const mixed of [rows(1, 3), rows(3, 1, 2)]) assert.equal(isDescending(mixed, worth), false);
});

test("bytes between ranks are all in the cells, and cells are no more than fit", () => {
  const random = chance(32);
  for (const world of [1, 2, 255, 256, 257, 1000, 5000]) {
    const pairs = Array.from({ length: 500 }, () => [below(random, world), below(random, world), below(random, 2 ** 30)]);
    const bins = trafficBins(world, pairs);
    assert.ok(bins.count <= 256 && bins.count * bins.per >= world);
    assert.equal(bins.bytes.reduce((a, b) => a + b, 0), pairs.reduce((sum, [, , sent]) => sum + sent, 0));
    assert.equal(bins.most, Math.max(...bins.bytes));
    assert.equal(binName(bins, bins.count - 1).endsWith(String(world - 1)), true, "the last cell ends with the last rank");
  }
  assert.equal(trafficBins(0, []).count, 0);
});

test("a collective is a dot of the rank that came last", () => {
  const ranks = [...Array(40).keys()].map((rank) => ({ rank }));
  const instances = [
    { arrival_order: [1, 0, 7], start_ns: 1_700_000_000_000_001_000, wait_ns: [5, 3, 0], group: 0 },
    { arrival_order: [7, 1, 99], start_ns: 1_700_000_000_000_000_000, wait_ns: [5, 3, 0], group: 0 },
    { arrival_order: [0, 7, 3], start_ns: 1_700_000_000_000_003_072, wait_ns: [9, 8, 0], group: 4 },
  ];
  const many = arrivals(ranks, instances, [{ name: "all_reduce" }]);
  assert.deepEqual(many.rows, [3, 7], "of many ranks, those that ever came last");
  assert.deepEqual(many.dots.map(({ last, row, at, wait, name }) => [last, row, at, wait, name]), [[7, 1, 1024, 5, "all_reduce"], [3, 0, 3072, 9, "collective"]]);
  assert.deepEqual([many.duration, many.longest, many.all], [3072, 9, false]);
  assert.deepEqual(arrivals(ranks.slice(0, 4), instances, []).rows, [0, 1, 2, 3], "of few ranks, all");
});

test("the dot that answers is the one whose rim is nearest, as a look at all of them finds", () => {
  const random = chance(33);
  for (let i = 0; i < 300; i++) {
    const dots = Array.from({ length: below(random, 8) }, () => [random() * 100, random() * 100, random() * 9]);
    const far = ([x, y, r]) => Math.hypot(x - 50, y - 50) - r;
    const slow = dots.filter((dot) => far(dot) < 14).sort((a, b) => far(a) - far(b))[0] ?? null;
    assert.equal(nearestDot(dots, (dot) => dot, 50, 50, 14), slow);
  }
});

test("a name that differs from the kind in spelling only is spelt as the kind", () => {
  const collectives = {
    matched: 3,
    groups: [{ name: "allreduce", kind: "all_reduce", dtype: "c10::BFloat16" }, { name: "_allgather_base", kind: "allgather", dtype: "Float" }, { name: "x", kind: "", dtype: "" }],
    unmatched_list: [{ name: "allreduce" }, { name: "barrier" }],
  };
  const before = structuredClone(collectives);
  const found = spelled(collectives);
  assert.deepEqual(found.groups.map((g) => [g.name, g.dtype]), [["all_reduce", "bfloat16"], ["_allgather_base", "float"], ["x", ""]]);
  assert.deepEqual(found.unmatched_list.map((u) => u.name), ["all_reduce", "barrier"]);
  assert.equal(found.matched, 3);
  assert.deepEqual(collectives, before, "the document stays");
});

test("ranks that are alike become the row of the middle one, and all others stay in their order", () => {
  const random = chance(34);
  for (let i = 0; i < 200; i++) {
    const rows = Array.from({ length: 1 + below(random, 30) }, (_, rank) => ({ rank, figure: random() }));
    const ranks = rows.map((row) => row.rank).filter(() => random() < 0.7);
    const alike = ranks.length > 0 ? { ratio: 0.02, rank: ranks[below(random, ranks.length)], ranks } : null;
    const folded = foldRows(rows, alike);
    assert.equal(folded.length, rows.length - Math.max(0, ranks.length - 1));
    assert.deepEqual(folded.filter((row) => row.folded).map((row) => [row.rank, row.folded]), alike === null ? [] : [[alike.rank, alike]]);
    assert.deepEqual(folded.map(({ rank }) => rank), folded.map(({ rank }) => rank).sort((a, b) => a - b));
    assert.ok(folded.every(({ rank, figure }) => rows[rank].figure === figure));
  }
});
