//! Which of the runs in a folder may go, as a plan that can be shown before it is carried out.
//!
//! Rules keep runs; what no rule keeps goes. A limit in bytes turns that around for the rest: it goes oldest first, and only
//! until everything together fits. Whatever the rules say, the newest run and every run that is being written stay.
//! This is arithmetic over a list; [`crate::remove_run`] does the removing.

use crate::State;

/// A run, as far as it matters here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRun {
    /// Name of its directory in the folder.
    pub name: String,
    /// How far it is.
    pub state: State,
    /// When its first attempt began, in nanoseconds since 1970.
    pub started_unix_ns: i64,
    /// When it was last written to, as far as its attempts tell.
    pub last_unix_ns: i64,
    /// Bytes in all its files.
    pub bytes: u64,
}

/// What is to be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionRules {
    /// The newest so many.
    pub keep_last: Option<usize>,
    /// Those of the last so many days.
    pub keep_days: Option<u32>,
    /// Of what no other rule keeps, the newest that fit, all runs counted.
    pub bytes_max: Option<u64>,
    /// Those that failed, and those that ended nobody knows how.
    pub keep_failed: bool,
    /// Those with these names.
    pub keep_named: Vec<String>,
}

/// What becomes of a run, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is being written.
    KeepRunning,
    /// It is the newest.
    KeepNewest,
    /// Its name was given.
    KeepNamed,
    /// It failed, and such are kept.
    KeepFailed,
    /// It is among the last.
    KeepLast,
    /// It is young enough.
    KeepYoung,
    /// There is room for it.
    KeepFits,
    /// No rule was given that would let anything go.
    KeepNoRule,
    /// No rule keeps it.
    Remove,
    /// No rule keeps it, and it exceeds the size limit.
    RemoveForRoom,
}

impl Verdict {
    /// Whether the run goes.
    pub fn removes(self) -> bool {
        matches!(self, Self::Remove | Self::RemoveForRoom)
    }

    /// The reason, in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::KeepRunning => "it is still being written",
            Self::KeepNewest => "it is the newest",
            Self::KeepNamed => "--keep names it",
            Self::KeepFailed => "it did not finish",
            Self::KeepLast => "it is among the newest",
            Self::KeepYoung => "it is recent enough",
            Self::KeepFits => "it fits within the size limit",
            Self::KeepNoRule => "no rule removes anything",
            Self::Remove => "no rule keeps it",
            Self::RemoveForRoom => "it exceeds the size limit",
        }
    }
}

/// What becomes of every run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionPlan {
    /// Runs with what becomes of them, newest first.
    pub runs: Vec<(StoredRun, Verdict)>,
    /// By how much the runs that stay are over the limit in bytes, because rules keep them.
    pub over_bytes: u64,
}

impl RetentionPlan {
    /// Runs that go, oldest first.
    pub fn removals(&self) -> impl Iterator<Item = &StoredRun> {
        self.runs.iter().rev().filter(|(_, verdict)| verdict.removes()).map(|(run, _)| run)
    }
}

/// Decides about `runs` at the moment `now_unix_ns`.
pub fn plan(mut runs: Vec<StoredRun>, rules: &RetentionRules, now_unix_ns: i64) -> RetentionPlan {
    // Two that began in the same nanosecond have an order too, or the plan would depend on that of the folder.
    runs.sort_by(|a, b| b.started_unix_ns.cmp(&a.started_unix_ns).then_with(|| b.name.cmp(&a.name)));
    let kept: Vec<Option<Verdict>> =
        runs.iter().enumerate().map(|(index, run)| kept_by_rule(run, index, rules, now_unix_ns)).collect();
    let protected = runs.iter().zip(&kept).filter(|(_, kept)| kept.is_some());
    let mut used_bytes: u64 = protected.fold(0, |sum, (run, _)| sum.saturating_add(run.bytes));
    let over_bytes = rules.bytes_max.map_or(0, |most| used_bytes.saturating_sub(most));
    // Once one does not fit, no older one does: a hole in the series would look like a loss.
    let mut is_full = false;
    let mut settle = |run: &StoredRun| {
        let Some(most) = rules.bytes_max else {
            return if rules.lets_go() { Verdict::Remove } else { Verdict::KeepNoRule };
        };
        is_full |= used_bytes.saturating_add(run.bytes) > most;
        if is_full {
            return Verdict::RemoveForRoom;
        }
        used_bytes += run.bytes;
        Verdict::KeepFits
    };
    let verdicts: Vec<Verdict> = runs.iter().zip(kept).map(|(run, kept)| kept.unwrap_or_else(|| settle(run))).collect();
    RetentionPlan { runs: runs.into_iter().zip(verdicts).collect(), over_bytes }
}

const DAY_NS: i64 = 86_400_000_000_000;

fn kept_by_rule(run: &StoredRun, index: usize, rules: &RetentionRules, now_unix_ns: i64) -> Option<Verdict> {
    let is_young = |days| run.last_unix_ns > now_unix_ns.saturating_sub(i64::from(days) * DAY_NS);
    let kept_if = |holds: bool, verdict| holds.then_some(verdict);
    kept_if(run.state == State::Running, Verdict::KeepRunning)
        .or(kept_if(index == 0, Verdict::KeepNewest))
        .or(kept_if(rules.keep_named.contains(&run.name), Verdict::KeepNamed))
        .or(kept_if(rules.keep_failed && run.state != State::Finished, Verdict::KeepFailed))
        .or(kept_if(rules.keep_last.is_some_and(|last| index < last), Verdict::KeepLast))
        .or(kept_if(rules.keep_days.is_some_and(is_young), Verdict::KeepYoung))
}

impl RetentionRules {
    /// Whether anything can go by them: to keep failed runs says nothing about the others.
    pub fn lets_go(&self) -> bool {
        self.keep_last.is_some() || self.keep_days.is_some() || self.bytes_max.is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_000 * DAY_NS;

    fn run(name: &str, days_ago: i64, state: State, bytes: u64) -> StoredRun {
        let at = NOW - days_ago * DAY_NS;
        StoredRun { name: name.to_owned(), state, started_unix_ns: at, last_unix_ns: at, bytes }
    }

    fn verdicts(plan: &RetentionPlan) -> Vec<(&str, Verdict)> {
        plan.runs.iter().map(|(run, verdict)| (run.name.as_str(), *verdict)).collect()
    }

    #[test]
    fn each_run_has_its_reason() {
        let runs = vec![
            run("old", 90, State::Finished, 5),
            run("broken", 80, State::Failed, 5),
            run("live", 70, State::Running, 5),
            run("paper", 60, State::Finished, 5),
            run("second", 40, State::Finished, 5),
            run("week", 3, State::Finished, 5),
            run("now", 0, State::Finished, 5),
        ];
        let rules = RetentionRules {
            keep_last: Some(3),
            keep_days: Some(7),
            keep_failed: true,
            keep_named: vec!["paper".to_owned()],
            bytes_max: None,
        };
        let expected = [
            ("now", Verdict::KeepNewest),
            ("week", Verdict::KeepLast),
            ("second", Verdict::KeepLast),
            ("paper", Verdict::KeepNamed),
            ("live", Verdict::KeepRunning),
            ("broken", Verdict::KeepFailed),
            ("old", Verdict::Remove),
        ];
        assert_eq!(verdicts(&plan(runs.clone(), &rules, NOW)), expected);
        let only_kept = RetentionRules { keep_failed: true, ..RetentionRules::default() };
        assert_eq!(plan(runs, &only_kept, NOW).removals().count(), 0, "to keep some is no wish to lose the others");
    }

    #[test]
    fn room_is_made_oldest_first_and_never_of_what_is_kept() {
        let runs: Vec<StoredRun> = (0..4).map(|age| run(&age.to_string(), age, State::Finished, 10)).collect();
        let limit = |bytes, keep: &[&str]| RetentionRules {
            bytes_max: Some(bytes),
            keep_named: keep.iter().map(|name| (*name).to_owned()).collect(),
            ..RetentionRules::default()
        };
        let gone = |rules: &RetentionRules| -> Vec<String> {
            plan(runs.clone(), rules, NOW).removals().map(|run| run.name.clone()).collect()
        };
        assert_eq!(gone(&limit(40, &[])), Vec::<String>::new());
        assert_eq!(gone(&limit(39, &[])), ["3"]);
        assert_eq!(gone(&limit(25, &[])), ["3", "2"]);
        assert_eq!(gone(&limit(30, &["3"])), ["2"]);
        assert_eq!(gone(&limit(0, &["3"])), ["2", "1"]);
        assert_eq!(plan(runs.clone(), &limit(5, &["3"]), NOW).over_bytes, 15);
    }

    fn any_runs() -> impl Strategy<Value = Vec<StoredRun>> {
        let state = prop_oneof![Just(State::Finished), Just(State::Failed), Just(State::Ended), Just(State::Running)];
        prop::collection::vec((0_i64..40, 0_i64..5, state, 0_u64..100), 0..12).prop_map(|drawn| {
            let named = drawn.into_iter().enumerate().map(|(index, (age, lasted, state, bytes))| {
                let run = run(&format!("run-{index}"), age, state, bytes);
                StoredRun { last_unix_ns: run.last_unix_ns + lasted * DAY_NS, ..run }
            });
            named.collect()
        })
    }

    fn any_rules() -> impl Strategy<Value = RetentionRules> {
        let names = prop::collection::vec((0..12).prop_map(|index| format!("run-{index}")), 0..3);
        let numbers = (prop::option::of(0_usize..6), prop::option::of(0_u32..30), prop::option::of(0_u64..400));
        (numbers, any::<bool>(), names).prop_map(|((keep_last, keep_days, bytes_max), keep_failed, keep_named)| {
            RetentionRules { keep_last, keep_days, bytes_max, keep_failed, keep_named }
        })
    }

    proptest! {
        #[test]
        fn what_a_rule_keeps_is_never_removed(runs in any_runs(), rules in any_rules()) {
            let plan = plan(runs, &rules, NOW);
            for (index, (run, verdict)) in plan.runs.iter().enumerate() {
                let kept = index == 0
                    || run.state == State::Running
                    || index < rules.keep_last.unwrap_or(0)
                    || rules.keep_named.contains(&run.name)
                    || (rules.keep_failed && matches!(run.state, State::Failed | State::Ended))
                    || rules.keep_days.is_some_and(|days| NOW - run.last_unix_ns < i64::from(days) * DAY_NS)
                    || !rules.lets_go();
                prop_assert!(!(kept && verdict.removes()), "{run:?} {verdict:?}");
            }
        }

        #[test]
        fn every_run_is_decided_about_once_whatever_their_order(runs in any_runs(), rules in any_rules()) {
            let once = plan(runs.clone(), &rules, NOW);
            let mut named: Vec<_> = once.runs.iter().map(|(run, _)| run.clone()).collect();
            prop_assert!(named.windows(2).all(|pair| pair[0].started_unix_ns >= pair[1].started_unix_ns));
            named.sort_by(|a, b| a.name.cmp(&b.name));
            let mut given = runs.clone();
            given.sort_by(|a, b| a.name.cmp(&b.name));
            prop_assert_eq!(named, given);
            prop_assert_eq!(plan(runs.into_iter().rev().collect(), &rules, NOW), once);
        }

        #[test]
        fn carried_out_it_leaves_nothing_to_do(runs in any_runs(), rules in any_rules()) {
            let kept = |plan: RetentionPlan| -> Vec<StoredRun> {
                plan.runs.into_iter().filter(|(_, verdict)| !verdict.removes()).map(|(run, _)| run).collect()
            };
            let left = kept(plan(runs, &rules, NOW));
            prop_assert_eq!(plan(left.clone(), &rules, NOW).removals().count(), 0);
            let used: u64 = left.iter().map(|run| run.bytes).sum();
            let over = plan(left, &rules, NOW).over_bytes;
            prop_assert!(rules.bytes_max.is_none_or(|most| used <= most + over));
        }
    }
}
