import assert from "node:assert/strict";
import test from "node:test";
import { DIVERGING, divergingRange, rampColour, within } from "../js/pure/ramp.js";
import { latestCells, mapCell, mapColumn, mapColumns, mapRow, mapRows, mapSpan, mapValue, mapValues, rowOrder, stepAt } from "../js/pure/step_map.js";
import { below, chance } from "./chance.mjs";

// A map of ranks 0, 2, 4 ... by steps 10, 11 ..., whose lateness is drawn; tiles show a cell that is drawn as well.
function drawn(random, ranks, steps, perRow, perColumn) {
  const [rows, columns] = [Math.ceil(ranks / perRow), Math.ceil(steps / perColumn)];
  const square = (value) => Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, column) => value(row, column)));
  const heightOf = (row) => Math.min(perRow, ranks - row * perRow);
  const widthOf = (column) => Math.min(perColumn, steps - column * perColumn);
  const shown = square((row, column) => below(random, heightOf(row)) * perColumn + below(random, widthOf(column)));
  const values = square(() => (random() < 0.2 ? null : below(random, 2001) - 1000));
  return {
    ranks: Array.from({ length: ranks }, (_, i) => 2 * i), steps: Array.from({ length: steps }, (_, i) => 10 + i), ranks_per_row: perRow, steps_per_column: perColumn,
    ...(perRow * perColumn > 1 ? { shown } : {}), metrics: [{ key: "lateness", values }],
    bounds_ns: Array.from({ length: steps }, (_, i) => [i * 100, i * 100 + 90]),
  };
}

test("the rank and step that a cell shows lie in the row and column of the cell", () => {
  const random = chance(51);
  for (let i = 0; i < 200; i++) {
    const map = drawn(random, 1 + below(random, 20), 1 + below(random, 20), 1 + below(random, 4), 1 + below(random, 4));
    for (let row = 0; row < mapRows(map); row++) {
      for (let column = 0; column < mapColumns(map); column++) {
        const { rank, step } = mapCell(map, row, column);
        assert.deepEqual([mapRow(map, rank), mapColumn(map, step)], [row, column]);
        const [first, last] = mapSpan(map.ranks, map.ranks_per_row, row);
        assert.ok(first <= rank && rank <= last);
      }
    }
    assert.ok(mapRow(map, 1) < 0 && mapColumn(map, 9) < 0, "what is not in it has no place");
  }
});

test("the latest cells are those that a look at all of them finds", () => {
  const random = chance(52);
  for (let i = 0; i < 100; i++) {
    const map = drawn(random, 9, 7, 1, 1);
    const all = mapValues(map, "lateness").filter((value) => value > 0).sort((a, b) => b - a);
    const found = latestCells(map, 5).map(({ row, column }) => mapValue(map, "lateness", row, column));
    assert.deepEqual(found, all.slice(0, 5));
    assert.deepEqual([...rowOrder(map, true)].sort((a, b) => a - b), rowOrder(map, false), "an order of rows is all of them");
  }
});

test("a time is in the step whose bounds hold it", () => {
  const map = drawn(chance(53), 2, 3, 1, 1);
  assert.deepEqual([-1, 0, 89, 90, 100, 299, 4000].map((ns) => stepAt(map, ns)), [null, 10, 10, null, 11, null, null]);
  assert.equal(stepAt(undefined, 5), null);
});

test("a diverging scale is as wide to both sides, and what is on time has its middle colour", () => {
  const random = chance(54);
  for (let i = 0; i < 100; i++) {
    const values = Array.from({ length: 1 + below(random, 300) }, () => below(random, 2001) - 1000);
    const range = divergingRange(values);
    assert.equal(range.lo, -range.hi);
    assert.equal(range.above, values.some((value) => value > range.hi));
    if (range.hi > 0) for (const colours of Object.values(DIVERGING)) assert.equal(rampColour(colours, within(range, 0)), `rgb(${colours[2]})`);
  }
  assert.deepEqual(divergingRange([]), { lo: 0, hi: 0, below: false, above: false });
});
