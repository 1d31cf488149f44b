import assert from "node:assert/strict";
import test from "node:test";
import { csvText } from "../js/pure/csv.js";
import { fitTransfer } from "../js/pure/fit.js";
import { below, chance } from "./chance.mjs";

const columns = [{ csv: "name", key: (row) => row[0] }, { key: () => "not copied" }, { csv: "total_ns", key: (row) => row[1] }];

// A reader of comma-separated values, as slow and plain as can be.
function read(text) {
  const rows = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const row = rows[rows.length - 1];
    if (quoted && text[i] === '"' && text[i + 1] === '"') row[row.length - 1] += text[i++];
    else if (text[i] === '"') quoted = !quoted;
    else if (!quoted && text[i] === ",") row.push("");
    else if (!quoted && text.startsWith("\r\n", i)) { rows.push([""]); i++; }
    else row[row.length - 1] += text[i];
  }
  return rows.slice(0, -1);
}

test("what is copied is read back as it was, whatever is in the names", () => {
  const random = chance(71);
  const letters = ["a", ",", '"', "\n", "\r\n", " ", "'", "<b>", "\u202e", "é"];
  for (let i = 0; i < 300; i++) {
    const rows = Array.from({ length: below(random, 6) }, () => ["x" + Array.from({ length: below(random, 8) }, () => letters[below(random, letters.length)]).join(""), below(random, 2 ** 40)]);
    assert.deepEqual(read(csvText(columns, rows)), [["name", "total_ns"], ...rows.map(([name, ns]) => [name, String(ns)])]);
  }
});

test("no cell is a formula, and what is absent is empty", () => {
  const text = csvText(columns, [["=cmd()", 1], ["+1", null], ["-1", undefined], ["@x", NaN], [null, -5]]);
  assert.equal(text, "name,total_ns\r\n'=cmd(),1\r\n'+1,\r\n'-1,\r\n'@x,\r\n,-5\r\n");
});

test("a start and a rate are found again, and nothing is fitted to two sizes", () => {
  const random = chance(72);
  for (let i = 0; i < 200; i++) {
    const [start, slope] = [random() * 50_000, 0.001 + random()];
    const points = Array.from({ length: 3 + below(random, 9) }, (_, k) => 2 ** (8 + 2 * k)).map((bytes) => ({ bytes, ns: start + slope * bytes }));
    const found = fitTransfer(points);
    assert.ok(Math.abs(found.slope - slope) < 1e-6 * slope && Math.abs(found.start - start) < 1e-3 * (1 + start), `${JSON.stringify(found)} of ${start}, ${slope}`);
    const noisy = points.map(({ bytes, ns }) => ({ bytes, ns: ns * (0.7 + 0.6 * random()) }));
    const rough = fitTransfer(noisy);
    assert.ok(rough === null || (rough.start >= 0 && rough.slope > 0));
  }
  assert.equal(fitTransfer([{ bytes: 1, ns: 1 }, { bytes: 2, ns: 2 }, { bytes: 2, ns: 3 }]), null);
  assert.equal(fitTransfer([{ bytes: 1, ns: 9 }, { bytes: 2, ns: 5 }, { bytes: 4, ns: 1 }]), null, "what gets faster with size has no rate");
});
