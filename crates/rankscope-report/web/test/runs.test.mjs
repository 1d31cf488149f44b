import assert from "node:assert/strict";
import test from "node:test";
import { runsOf } from "../js/pure/runs.js";
import { below, chance } from "./chance.mjs";

test("neighbours are told as a run, and what is told can be read back", () => {
  assert.equal(runsOf([0, 1, 3]), "0 to 1, 3");
  assert.equal(runsOf([]), "");
  const random = chance(5);
  for (let i = 0; i < 500; i++) {
    const numbers = Array.from({ length: 24 }, (_, n) => n).filter(() => below(random, 2) === 0);
    const read = runsOf(numbers).split(", ").filter(Boolean).flatMap((run) => {
      const [first, last = first] = run.split(" to ").map(Number);
      return Array.from({ length: last - first + 1 }, (_, n) => first + n);
    });
    assert.deepEqual(read, numbers);
  }
});
