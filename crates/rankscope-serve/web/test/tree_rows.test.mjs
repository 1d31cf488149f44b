import assert from "node:assert/strict";
import test from "node:test";
import { chance, below } from "../../../rankscope-report/web/test/chance.mjs";
import { closedAtFirst, fragmentOf, hasBelow, inWords, isAskable, led, restName, rowsOf, seen, wantedIn } from "../tree_rows.js";

const node = (level, total_ns, calls_left_out = 0) => ({
  level, name: `f${level}`, kind: "operator", calls: 1, total_ns, self_ns: 0, launched: 0, device_ns: 0,
  left_out: { calls: calls_left_out, total_ns: calls_left_out, launched: 0, device_ns: 0 },
});

// Nodes as the server sends them: parents first, each at most a level below the one before.
function anyNodes(random) {
  const nodes = [node(0, 1000, below(random, 2))];
  for (let i = below(random, 30); i > 0; i--) {
    const level = 1 + below(random, nodes[nodes.length - 1].level + 1);
    nodes.push(node(level, below(random, 1000), below(random, 3)));
  }
  return nodes;
}

test("every row knows what it is below and what is below it", () => {
  const random = chance(5);
  for (let i = 0; i < 300; i++) {
    const nodes = anyNodes(random);
    const rows = rowsOf(nodes);
    assert.deepEqual(rows.filter((row) => !row.isRest).map((row) => row.level), nodes.map((one) => one.level));
    rows.forEach((row, at) => {
      const expected = rows.findLastIndex((other, place) => place < at && other.level < row.level);
      assert.equal(row.parent, expected);
      for (let below = at + 1; below < rows.length; below++) assert.equal(below <= row.last, rows.slice(at + 1, below + 1).every((other) => other.level > row.level));
    });
  }
});

test("what was left out is the last row below its node", () => {
  const rows = rowsOf([node(0, 9, 4), node(1, 5, 2), node(2, 1), node(1, 3)]);
  assert.deepEqual(rows.map((row) => [row.level, row.isRest, row.calls]), [[0, false, 1], [1, false, 1], [2, false, 1], [2, true, 2], [1, false, 1], [1, true, 4]]);
  assert.deepEqual(rows.map((row) => row.parent), [-1, 0, 1, 1, 0, 0]);
  assert.equal(restName({ calls: 1 }), "1 shorter or deeper call, not listed");
  assert.equal(restName({ calls: 12345 }), "12,345 shorter or deeper calls, not listed");
});

test("a row is seen where nothing around it is closed", () => {
  const random = chance(6);
  for (let i = 0; i < 300; i++) {
    const rows = rowsOf(anyNodes(random));
    const closed = new Set([...rows.keys()].filter(() => random() < 0.3));
    const around = (at) => (rows[at].parent < 0 ? [] : [rows[at].parent, ...around(rows[at].parent)]);
    assert.deepEqual(seen(rows, closed), [...rows.keys()].filter((at) => !around(at).some((other) => closed.has(other))));
  }
});

test("keys lead along what is seen, and never out of it", () => {
  const random = chance(7);
  for (let i = 0; i < 200; i++) {
    const rows = rowsOf(anyNodes(random));
    const closed = closedAtFirst(rows);
    let at = 0;
    for (let step = 0; step < 60; step++) {
      const key = ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "Home", "End"][below(random, 6)];
      const way = led(key, at, rows, closed);
      if (way.opens !== undefined) closed.delete(way.opens);
      if (way.closes !== undefined) closed.add(way.closes);
      assert.ok(seen(rows, closed).includes(way.to), `${key} from ${at}`);
      at = way.to;
    }
  }
  assert.equal(led("x", 0, rowsOf([node(0, 1)]), new Set()), null);
});

test("right opens and then goes in, left closes and then goes out", () => {
  const rows = rowsOf([node(0, 100), node(1, 50), node(2, 50), node(1, 2), node(2, 2)]);
  const closed = closedAtFirst(rows);
  assert.deepEqual([...closed], [3], "what is less than a twentieth");
  assert.deepEqual(led("ArrowRight", 3, rows, closed), { to: 3, opens: 3 });
  assert.deepEqual(led("ArrowRight", 1, rows, closed), { to: 2 });
  assert.deepEqual(led("ArrowRight", 2, rows, closed), { to: 2 });
  assert.deepEqual(led("ArrowLeft", 2, rows, closed), { to: 1 });
  assert.deepEqual(led("ArrowLeft", 1, rows, closed), { to: 1, closes: 1 });
  assert.deepEqual(led("ArrowLeft", 3, rows, closed), { to: 0 });
  assert.ok(hasBelow(rows, 3) && !hasBelow(rows, 4));
});

test("an address asks for any name, and comes back as it was", () => {
  for (const operator of ["aten::mm", "a b+c&d=e#f%20", "<b>\u202e\u{1f600}", "void f<float, 4>(int*)", " "]) {
    for (const [rank, step] of [[null, null], [0, null], [7, -3]]) {
      assert.deepEqual(wantedIn(fragmentOf({ operator, rank, step })), { operator, rank, step });
    }
  }
  assert.equal(wantedIn(""), null);
  assert.equal(wantedIn("#tree-heading"), null);
  assert.deepEqual(wantedIn("#operator=f&rank=x&step=1e3"), { operator: "f", rank: null, step: null });
  assert.ok(isAskable("aten::mm") && !isAskable("") && !isAskable("x".repeat(3501)) && !isAskable("\ud800"));
});

test("a tree is said in a sentence", () => {
  const tree = (more, root = {}) => ({ rank: 3, step: null, operator: "f", instances: 2, nested: 0, callers: [], callees: [{ ...node(0, 70), self_ns: 30, ...root }], ...more });
  const ns = (value) => `${value} ns`;
  assert.equal(inWords(tree({}), ns), "rank 3: 2 calls took 70 ns, 30 ns of it themselves, and launched nothing on a device.");
  assert.equal(inWords(tree({ step: 12, instances: 1, nested: 1 }, { launched: 1200, device_ns: 9 }), ns),
    "rank 3, step 12: 1 call took 70 ns, 30 ns of it themselves, and launched 1,200 kernels and copies of 9 ns in all. Inside of those it was called 1 time more: rows of the tree, whose time is counted once.");
});
