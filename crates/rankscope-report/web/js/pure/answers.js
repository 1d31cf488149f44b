// What stands first in a report: at most three answers, in the order of the document's advice, and what is missing for one.

const MOST_ANSWERS = 3;

// Why no rank is named, and what would change that. What is said of `nobody_stands_out` is an answer; the others are gaps.
const UNNAMED = {
  nobody_stands_out: ["No rank stands out as late", "Ranks were compared, and none makes the others wait more than chance would."],
  nothing_to_judge: ["Who is late cannot be said", "No collective that all of its ranks must reach was found on all of them. Give the traces of every rank, of the same steps."],
  too_few_rounds: ["Who is late cannot be said", "There are too few rounds to tell a rule from an accident. Record five steps or more."],
  irregular: ["No rank is late as a rule", "One rank cost most, but not from round to round. Record more steps."],
  within_clocks: ["Who is late cannot be said", "The clocks leave more open than any rank leads by. Measured clocks would tell."],
  not_comparable: ["Ranks are not compared", "The traces contradict each other; the problems below say how."],
};
const ONE_RANK = ["Who is late cannot be said", "One rank alone shows nothing about the others. Give the traces of the other ranks, too."];
const NOT_NAMED = ["No rank is named as late", "Nothing was found that would make a step shorter by enough to say so, or answers were left out."];
const LOW = "It holds only if the clocks are where they are estimated to be.";
const NOTHING_SAVED = "The interval begins at nothing saved.";

// Each has a title, what it costs ({ ns, lo, hi, per } or null), sentences, what to do and how to check it (or null), the ranks it is
// about, whether a verdict on late ranks stands behind it, and why it is thin (or null).
export function firstAnswers(doc) {
  const { advice: found = [], critical_path: paths = [] } = doc;
  const { late = [], reason = null } = doc.verdict ?? {};
  const per = paths.some(({ step }) => step === null || step === undefined) ? "in all" : "a step";
  const lateOf = (ranks) => late.find(({ rank }) => ranks.length === 1 && ranks[0] === rank) ?? null;
  const advised = found.map((one) => adviceAnswer(one, lateOf(one.ranks), per));
  const alone = late.filter(({ rank }) => !found.some(({ ranks }) => ranks.includes(rank))).map(lateAnswer);
  const answers = [...alone, ...advised].slice(0, MOST_ANSWERS);
  if (answers.some(({ ranks }) => ranks.length > 0)) return answers;
  const gap = gapAnswer(doc.ranks.length < 2 ? ONE_RANK : UNNAMED[reason] ?? NOT_NAMED, reason);
  return [...answers.slice(0, MOST_ANSWERS - 1), gap];
}

function adviceAnswer({ title, worth_ns_per_step: ns, lo_ns: lo, hi_ns: hi, evidence, remedy, check, ranks }, late, per) {
  const thin = late !== null && late.confidence === "low" ? LOW : lo <= 0 ? NOTHING_SAVED : null;
  return { title, cost: { ns, lo, hi, per }, because: evidence, remedy, check, ranks, late, thin };
}

function lateAnswer(late) {
  const { rank, delay_wall_ns: ns, lo_ns: lo, hi_ns: hi, confidence } = late;
  const remedy = "See what it did differently under \u201cWhy ranks were late\u201d.";
  return { title: `Rank ${rank} is late`, cost: { ns, lo, hi, per: "in all" }, because: [], remedy, check: null, ranks: [rank], late, thin: confidence === "low" ? LOW : null };
}

function gapAnswer([title, sentence], reason) {
  return { title, cost: null, because: [], remedy: sentence, check: null, ranks: [], late: null, thin: reason === "nobody_stands_out" ? null : "" };
}
