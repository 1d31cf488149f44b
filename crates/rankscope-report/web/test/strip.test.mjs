import assert from "node:assert/strict";
import test from "node:test";
import { moved, pieceAt, piecesWithin, stripPieces, stripReach, zoomed } from "../js/pure/strip.js";
import { below, chance } from "./chance.mjs";

const collectives = {
  groups: [{ name: "all_reduce" }],
  instances: [
    { group: 0, start_ns: 1_000, arrival_order: [3, 1, 2], wait_ns: [40, 15, 0], transfer_ns: 7 },
    { group: 9, start_ns: 2_000, arrival_order: [2, 3], wait_ns: [5, 0], transfer_ns: 1 },
  ],
};

test("a rank arrives its wait before the last, and the transfer follows for all", () => {
  const pieces = stripPieces(collectives, 900);
  assert.deepEqual(pieces.slice(0, 3).map(({ rank, arrives, starts, ends }) => [rank, arrives, starts, ends]), [[3, 100, 140, 147], [1, 125, 140, 147], [2, 140, 140, 147]]);
  assert.ok(pieces.slice(0, 3).every(({ lastRank }) => lastRank === 2));
  assert.equal(pieces[3].name, "collective", "of a group that is not listed");
  assert.deepEqual(stripReach(pieces), [100, 1106]);
  assert.deepEqual(stripReach([]), [0, 1]);
  assert.deepEqual(piecesWithin(pieces, [0, 120]).map(({ rank }) => rank), [3]);
  assert.equal(pieceAt(pieces, 1, 130).arrives, 125);
  assert.deepEqual([pieceAt(pieces, 1, 124), pieceAt(pieces, 7, 130)], [null, null]);
});

test("zooming keeps what is under the pointer, and nothing leaves the whole", () => {
  const random = chance(61);
  for (let i = 0; i < 500; i++) {
    const whole = [below(random, 1000), 5_000 + below(random, 100_000)];
    let shown = whole;
    for (let k = 0; k < 12; k++) {
      const at = shown[0] + random() * (shown[1] - shown[0]);
      const before = (at - shown[0]) / (shown[1] - shown[0]);
      const factor = 0.3 + 2 * random();
      const zooms = random() < 0.7;
      const next = zooms ? zoomed(shown, whole, factor, at, 100) : moved(shown, whole, (random() - 0.5) * 20_000);
      assert.ok(next[0] >= whole[0] - 1e-6 && next[1] <= whole[1] + 1e-6 && next[1] - next[0] >= 99.999, `${next} of ${whole}`);
      const isEdge = next[0] === whole[0] || Math.abs(next[1] - whole[1]) < 1e-6;
      if (zooms && !isEdge) assert.ok(Math.abs((at - next[0]) / (next[1] - next[0]) - before) < 1e-6);
      shown = next;
    }
    assert.deepEqual(zoomed(shown, whole, 1e9, shown[0], 100), whole);
  }
});
