import assert from "node:assert/strict";
import test from "node:test";
import { fragmentOf, selectionIn } from "../js/pure/deep_link.js";
import { below, chance } from "./chance.mjs";

test("a selection comes back out of its link, whatever it is", () => {
  const random = chance(41);
  const some = (most) => (random() < 0.3 ? null : below(random, most) - 3);
  for (let i = 0; i < 500; i++) {
    const selected = { step: some(2 ** 40), rank: some(4096) };
    const isNone = selected.step === null && selected.rank === null;
    assert.deepEqual(selectionIn(fragmentOf(selected)), isNone ? null : selected);
  }
  assert.equal(fragmentOf({ step: 12, rank: 5 }), "#step=12&rank=5");
  assert.equal(fragmentOf({ step: null, rank: null }), "");
});

test("a link that is about something else selects nothing", () => {
  for (const fragment of ["", "#", "#time", "#steps", "#rank", "#rank=", "#rank=two", "#rank=1e3", "#rank=1.5", "#rank=99999999999999999", "#__proto__=1", "#constructor=1", "#rank=<img>"]) {
    assert.equal(selectionIn(fragment), null, fragment);
  }
  assert.deepEqual(selectionIn("#rank=7&step=x&other=1"), { step: null, rank: 7 }, "what can be read is taken");
  assert.deepEqual(selectionIn("#step=-1"), { step: -1, rank: null });
});
