import assert from "node:assert/strict";
import test from "node:test";
import { reportOf } from "../js/pure/given_report.js";
import { lists, records, recordsOf, unpacked } from "../js/pure/packed.js";
import { below, chance } from "./chance.mjs";

// What src/html/packed.rs writes, from the other side: symbols of seven bits, then base64.
function packed(values) {
  const bytes = [];
  let known = 0n;
  for (const value of values) {
    let symbol = 0n;
    if (value !== null) {
      const difference = BigInt(value) - known;
      known = BigInt(value);
      symbol = difference < 0n ? -2n * difference : 2n * difference + 1n;
    }
    for (; symbol > 127n; symbol >>= 7n) bytes.push(Number(symbol & 127n) | 128);
    bytes.push(Number(symbol));
  }
  return btoa(String.fromCharCode(...bytes)).replace(/=+$/, "");
}

test("integers come back as they were, and what is absent stays absent", () => {
  const random = chance(71);
  for (let i = 0; i < 300; i++) {
    const values = Array.from({ length: below(random, 40) }, () => (random() < 0.1 ? null : Math.round((random() - 0.5) * 2 ** below(random, 53)) + 0));
    assert.deepEqual(unpacked({ exact: packed(values) }), values);
  }
});

test("brief numbers are three digits and zeros", () => {
  const pairs = [[0, 0], [7, 7], [999, 999], [1000, 1000], [1001, 1010], [1899, 9990], [1900, 10_000], [1901, 10_100], [-1001, -1010], [null, null]];
  assert.deepEqual(unpacked({ brief: packed(pairs.map(([number]) => number)) }), pairs.map(([, value]) => value));
});

test("records and lists are put together again", () => {
  assert.deepEqual(records({ keys: ["a", "b"], rows: [[1, "x"], [2, null]] }), [{ a: 1, b: "x" }, { a: 2, b: null }]);
  assert.deepEqual(recordsOf({ a: [1, 2], b: ["x", "y"] }), [{ a: 1, b: "x" }, { a: 2, b: "y" }]);
  assert.deepEqual(lists([1, 2, 3], [2, 0, 1]), [[1, 2], [], [3]]);
});

test("ranks of a collective are in the order in which they came", () => {
  const exact = (...values) => ({ exact: packed(values) });
  const none = { keys: [], rows: [] };
  const page = {
    names: ["k", "compute"], step_map: null, blame: none, budgets: none, kernels: none,
    ranks: { about: { keys: ["rank"], rows: [[4], [7]] }, times: { keys: ["total"], rows: [[1], [2]] }, copies: [none, none], kernels: { lengths: exact(0, 1), name: exact(0), class: exact(1), count: exact(3), total_ns: exact(90) } },
    critical_path: { step: exact(null), rank: exact(7), length_ns: exact(12), hops: exact(0), classes: ["compute", "host"], by_class: exact(9, 3), top: { lengths: exact(1), name: exact(0), kernel: exact(0), class: exact(1), rank: exact(7), ns: exact(9), count: exact(1) }, slack: { lengths: exact(0), name: exact(), rank: exact(), least_ns: exact(), ns: exact() } },
    collectives: { groups: none, ranks: none, unmatched_list: none, instances: { group: exact(0, 0), start_ns: exact(5, 9), members: exact(null, 300), set: exact(1, 0), sets: [exact(4, 7), exact(0, 4, 7)], wait_ns: exact(0, 30, 20, 0, 0), last: exact(0, 1), transfer_ns: exact(1, 2), end_skew_ns: exact(0, 0) } },
    clock: { method: "one_host", offsets: none, pairs: none, gpus: none },
  };
  const { collectives, ranks, critical_path: [path] } = reportOf(page);
  const [first, second] = collectives.instances;
  assert.deepEqual([first.arrival_order, first.wait_ns, first.start_ns], [[4, 7, 0], [30, 20, 0], 5]);
  assert.deepEqual([second.arrival_order, second.wait_ns, second.members], [[4, 7], [0, 0], 300], "of two that wait for nobody, the one that is known to have come last is last");
  assert.deepEqual([ranks[0].kernels, ranks[1].kernels], [[], [{ name: "k", class: "compute", count: 3, total_ns: 90 }]]);
  assert.deepEqual([path.by_class, path.top[0].name, path.slack], [{ compute: 9, host: 3 }, "k", []]);
});
