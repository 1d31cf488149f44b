import assert from "node:assert/strict";
import test from "node:test";
import { firstAnswers } from "../js/pure/answers.js";

const advice = (title, ranks, lo = 1) => ({ title, worth_ns_per_step: 5, lo_ns: lo, hi_ns: 9, evidence: [], remedy: "do", check: "check", ranks });
const late = (rank, confidence = "high") => ({ rank, delay_wall_ns: 7, lo_ns: 6, hi_ns: 8, confidence });
const doc = (parts) => ({ ranks: [{}, {}], verdict: { late: [], reason: null }, critical_path: [], ...parts });
const titles = (parts) => firstAnswers(doc(parts)).map((one) => one.title);

test("at most three, in the order of the advice", () => {
  const all = ["a", "b", "c", "d"].map((title) => advice(title, [1]));
  assert.deepEqual(titles({ advice: all }), ["a", "b", "c"]);
});

test("a rank that is late stands first where no advice is about it, and once where one is", () => {
  const verdict = { late: [late(4)], reason: null };
  assert.deepEqual(titles({ verdict, advice: [advice("all", [])] }), ["Rank 4 is late", "all"]);
  assert.deepEqual(titles({ verdict, advice: [advice("rank 4 loads", [4])] }), ["rank 4 loads"]);
  assert.equal(firstAnswers(doc({ verdict, advice: [advice("rank 4 loads", [4])] }))[0].late.delay_wall_ns, 7);
});

test("where nobody is named the last place says why, and only a finding of nobody is sure", () => {
  const many = ["a", "b", "c"].map((title) => advice(title, []));
  assert.deepEqual(titles({ verdict: { late: [], reason: "too_few_rounds" }, advice: many }), ["a", "b", "Who is late cannot be said"]);
  const gap = (reason) => firstAnswers(doc({ verdict: { late: [], reason } })).at(-1);
  assert.equal(gap("nobody_stands_out").thin, null);
  for (const reason of ["nothing_to_judge", "irregular", "within_clocks", "not_comparable", "a word of a later version", null]) {
    assert.notEqual(gap(reason).thin, null, reason);
    assert.ok(gap(reason).remedy.length > 20, reason);
  }
  assert.match(firstAnswers({ ranks: [{}] })[0].remedy, /other ranks/, "of one rank, and of documents without a verdict");
});

test("what may be nothing is thin, and so is what hangs on estimated clocks", () => {
  assert.notEqual(firstAnswers(doc({ advice: [advice("a", [1], 0)] }))[0].thin, null);
  assert.equal(firstAnswers(doc({ advice: [advice("a", [1])] }))[0].thin, null);
  assert.notEqual(firstAnswers(doc({ verdict: { late: [late(1, "low")] }, advice: [advice("a", [1])] }))[0].thin, null);
});
