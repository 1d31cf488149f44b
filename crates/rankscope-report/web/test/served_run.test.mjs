import assert from "node:assert/strict";
import test from "node:test";
import { servedRun, treeAddress } from "../js/pure/served_run.js";

test("a page that is served knows its run, and one from disk none", () => {
  assert.equal(servedRun("http://127.0.0.1:9001/runs/a%20b/files/report/report.html#step=3"), "/runs/a%20b/");
  assert.equal(servedRun("https://node7/runs/job/files/clock.html?token=1"), "/runs/job/");
  for (const other of ["file:///runs/job/files/report.html", "http://127.0.0.1:9001/runs/job/", "http://127.0.0.1:9001/report.html", "http://h/x/runs/job/files/a.html"]) assert.equal(servedRun(other), null, other);
});

test("an operator leads to its tree where there is one to be asked for", () => {
  assert.equal(treeAddress("/runs/job/", "aten::mm & more", 3), "/runs/job/#operator=aten%3A%3Amm%20%26%20more&rank=3");
  assert.equal(treeAddress("/runs/job/", "f", null), "/runs/job/#operator=f");
  for (const name of ["", "x".repeat(3501), "\ud800"]) assert.equal(treeAddress("/runs/job/", name, 0), null);
  assert.equal(treeAddress(null, "f", 0), null);
});
