// What a closed section has to say, in a line. Figures are those that stand in it.
import { cuts } from "../given.js";
import { formatCount, formatShare, formatTime, plural } from "../pure/format.js";

const greatest = (list, key) => list.reduce((one, other) => (one === null || key(other) > key(one) ? other : one), null);

export const BRIEFS = {
  time({ mean_step: step }) {
    if (!step) return "no rank shows any time";
    return `computation ${formatShare(step.computation, step.total)}, idle ${formatShare(step.idle, step.total)} on the mean rank; every rank by class`;
  },
  late({ verdict, collectives }) {
    const latest = greatest(collectives.ranks, (rank) => rank.delay_ns);
    if (!latest) return "not known from these traces";
    if (latest.delay_ns <= 0) return "nobody made others wait";
    return `${verdict.late.length > 0 ? "" : "nobody as a rule; "}rank ${latest.rank} made others wait most, ${formatTime(latest.delay_ns)}`;
  },
  why({ blame = [] }) {
    const worst = greatest(blame, (rank) => rank.lateness_ns);
    if (!worst || worst.reasons.length === 0) return "what late ranks did that the median rank did not; waiting and transfer";
    const [{ ns, kind, name }] = worst.reasons;
    return `rank ${worst.rank}: ${formatTime(ns)} ${(name || kind.replaceAll("_", " ")).slice(0, 60)}; waiting and transfer`;
  },
  help({ unanswered = [] }) {
    return unanswered.length > 0 ? `more advice, and ${plural(unanswered.length, "question")} without an answer` : "how worth is counted, and more advice";
  },
  path({ critical_path: paths = [] }) {
    const longest = greatest(paths, (path) => path.length_ns);
    if (!longest || longest.length_ns <= 0) return "not known from these traces";
    return `longest ${longest.step === null ? "of the recording" : `in step ${longest.step}`}: ${formatTime(longest.length_ns)}, ends on rank ${longest.rank}`;
  },
  collectives({ collectives: { groups, matched, unmatched } }) {
    const exposed = greatest(groups, (group) => group.exposed_ns);
    if (!exposed) return "none in these traces";
    return `${formatCount(matched)} of ${formatCount(matched + unmatched)} matched; most exposed ${exposed.name.slice(0, 60)}, ${formatTime(exposed.exposed_ns)}`;
  },
  rank({ ranks }) {
    const [first] = ranks[0].kernels;
    return first ? `rank ${ranks[0].rank}: ${first.name.slice(0, 60)}, ${formatTime(first.total_ns)}` : "kernels and copies by name";
  },
  tables: ({ page_tables: tables = [] }) => tables.slice(0, 4).map((one) => one.title).join(", "),
  clocks({ clock: { method, pairs } }) {
    const known = { measured: "measured by packets between the hosts", partly_measured: "measured for some ranks", one_host: "one clock for all ranks", collectives: "estimated from the collectives" };
    const apart = pairs.filter((pair) => !pair.zero_inside).length;
    return `${known[method] ?? "as recorded"}${apart > 0 && cuts.pairs === 0 ? `; recorded clocks cannot be equal` : ""}`;
  },
  files({ ranks }) {
    const damaged = ranks.flatMap((rank) => rank.problems).length;
    return `${plural(ranks.length, "rank")}; ${damaged > 0 ? `${plural(damaged, "sort")} of damage` : "every file was read without damage"}`;
  },
};
