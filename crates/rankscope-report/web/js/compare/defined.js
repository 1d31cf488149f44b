// What each figure is and how it is computed. Figures link to their definition.
import { h, lead } from "../dom.js";

const DEFINED = {
  value: ["base, test", "The median of the steps that are compared, once warm-up is left out; of several runs, the median of their medians."],
  change: ["change", "The estimated difference, test minus base, in the unit of the metric. A positive time takes longer in the test. With one run a side it is the difference of the medians of the steps, with several that of the runs."],
  share: ["% of base", "The change as a share of the base."],
  interval: ["interval", "Of a hundred such intervals, 95 hold the true change. It allows for steps that resemble their neighbours, and for runs that differ where that is known. Where too little is known to bound the change there is none."],
  verdict: ["verdict", "improved and regressed: beyond the margin, and certain to be. changed: the same for a metric that has no better and worse. equivalent: within the margin, and certain to be. inconclusive: the evidence does not decide. differs, no difference seen: what can be said of these two runs, where one run a side tells nothing about others. no evidence: too few observations."],
  margin: ["margin", "The change that counts as none, as a share of the base."],
  p: ["p", "How likely a difference as large is if nothing changed, corrected for the number of metrics of its family (Holm for the job's, Benjamini-Hochberg for ranks and collectives)."],
  observations: ["observations", "Runs or steps of base and test, whichever are counted. Ranks of one step are parts of one observation."],
  contribution: ["contribution", "A part of the change of the mean step; the parts add up to it. Its interval is there where several runs tell."],
  structure: ["structure", "What one side has and the other has not, what took another's place in the tree of calls, and what is there another number of times. Times are those of a step."],
  beside: ["time by class", "Time of a rank by class over its whole trace, in aorta's names; of several runs the median. The mean is over ranks, of times and of percentages by themselves."],
  percent: ["% change", "The difference in percent of the base: test minus base over base, so positive takes longer. Where the page says that it has aorta's signs, positive is better."],
  latency: ["latency", "The shortest time that any rank spends in a collective, once all have come; the mean over the matched collectives of a name, type and size."],
  total: ["total latency", "The sum of these times over the matched collectives."],
  algbw: ["algorithm bandwidth", "Bytes over latency: 10⁹ bytes a second, or 2³⁰ where the page has aorta's signs."],
  busbw: ["bus bandwidth", "Algorithm bandwidth times the factor of the operation, 2(n−1)/n for an all-reduce of n ranks."],
  count: ["count", "Matched collectives over the whole trace."],
  step: ["step_ns", "The time of a step: that of its slowest rank, as all others wait for it. With @rank and a number, that rank's own."],
  classes: ["computation_ns and others", "A class of time in each step, the median of all ranks. With @rank and a number, that rank's own. busy, total_comm and total_memcpy are neither better nor worse when they change."],
  comm: ["comm.…", "Collectives by operation, type and elements: latency, wait for the last rank to come, and bus bandwidth, each the median of a step."],
  ranking: ["ranking", "Sides by the median time of their steps. The winner is named where it is certain to be faster than each other side, corrected for the number of pairs (Holm)."],
};

// `content` as a link to what it means.
export const defined = (id, content) => h("a", { class: "quiet", href: `#def-${id}` }, content);

export function definitionOfMetric(name) {
  if (name.startsWith("comm.")) return "comm";
  return name.startsWith("step_ns") ? "step" : "classes";
}

export function drawDefinitions(_view, body) {
  const entries = Object.entries(DEFINED).flatMap(([id, [term, text]]) => [h("dt", { id: `def-${id}` }, term), h("dd", {}, text)]);
  body.append(lead("Figures on this page link here."), h("dl", { class: "definitions" }, ...entries));
}
