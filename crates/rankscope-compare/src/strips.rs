//! The same steps of all sides in time: what each rank waited for, and how long the transfers took.
//!
//! Steps are the same where they have the same number. Of each side the first run stands for it; a document of all runs would be read by
//! nobody. What is left out beyond the budget is counted.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rankscope_document::spelling;
use rankscope_document::{CollectiveInstance, SideStrips, StepStrip, StepStrips};

use crate::side::{Run, Side};

/// Ranks named in all collectives of all strips together: about half a megabyte of text.
const RANK_ENTRIES: usize = 24_000;

/// When each step begins and ends on any rank, by its number.
type Windows = BTreeMap<i64, [i64; 2]>;

/// Collectives of each step.
type Matched<'a> = BTreeMap<i64, Vec<&'a CollectiveInstance>>;

/// Those of `sides`; none where they have no step in common, or no collective in any.
pub(crate) fn strips(sides: &[Side]) -> Option<StepStrips> {
    let runs: Vec<(&Side, &Run)> = sides.iter().map(|side| Some((side, side.runs.first()?))).collect::<Option<_>>()?;
    let windows: Vec<Windows> = runs.iter().map(|(_, run)| run.steps.windows(&run.document)).collect();
    let (base, tests) = windows.split_first()?;
    let common: Vec<i64> = base.keys().filter(|step| tests.iter().all(|test| test.contains_key(step))).copied().collect();
    let typical = typical(&common, base, tests.first().unwrap_or(base))?;
    let matched: Vec<Matched<'_>> = runs.iter().zip(&windows).map(|((_, run), windows)| matched(run, windows)).collect();
    let entries = |step: &i64| matched.iter().filter_map(|side| side.get(step)).flatten().map(|one| weight(one)).sum::<usize>();
    let all: usize = common.iter().map(entries).sum();
    if all == 0 {
        return None;
    }
    let steps = spaced(&common, typical, all.div_ceil(RANK_ENTRIES));
    let of_one = RANK_ENTRIES / (steps.len() * sides.len()).max(1);
    let parts = runs.iter().zip(windows.iter().zip(&matched));
    let sides = parts.map(|((side, run), (windows, matched))| of_side(side, run, windows, matched, &steps, of_one)).collect();
    Some(StepStrips { typical, sides })
}

const fn length([begin, end]: [i64; 2]) -> i64 {
    end.saturating_sub(begin)
}

/// The step of `common` whose change is the median one.
fn typical(common: &[i64], base: &Windows, test: &Windows) -> Option<i64> {
    let mut changes: Vec<(i64, i64)> =
        common.iter().map(|step| (length(test[step]).saturating_sub(length(base[step])), *step)).collect();
    changes.sort_unstable();
    changes.get(changes.len().saturating_sub(1) / 2).map(|(_, step)| *step)
}

/// One in `every` of `common`, `kept` among them.
fn spaced(common: &[i64], kept: i64, every: usize) -> Vec<i64> {
    let every = every.max(1);
    let first = common.iter().position(|step| *step == kept).unwrap_or(0) % every;
    common.iter().skip(first).step_by(every).copied().collect()
}

/// The collectives of a run by the step in which they begin.
fn matched<'a>(run: &'a Run, windows: &Windows) -> Matched<'a> {
    let mut begins: Vec<(i64, i64, i64)> = windows.iter().map(|(step, [begin, end])| (*begin, *end, *step)).collect();
    begins.sort_unstable();
    let mut found: Matched<'a> = BTreeMap::new();
    for instance in &run.document.collectives.instances {
        let at = begins.partition_point(|(begin, ..)| *begin <= instance.start_ns);
        let window = at.checked_sub(1).map(|at| begins[at]).filter(|(_, end, _)| instance.start_ns < *end);
        if let Some((.., step)) = window {
            found.entry(step).or_default().push(instance);
        }
    }
    found
}

const fn weight(instance: &CollectiveInstance) -> usize {
    instance.arrival_order.len()
}

fn of_side(side: &Side, run: &Run, windows: &Windows, matched: &Matched<'_>, steps: &[i64], entries: usize) -> SideStrips {
    let mut strips = SideStrips {
        label: side.label.clone(),
        run: run.path().to_owned(),
        ranks: run.document.ranks.iter().map(|rank| rank.rank).collect(),
        ..SideStrips::default()
    };
    for step in steps {
        let window = windows[step];
        let all: &[&CollectiveInstance] = matched.get(step).map_or(&[], Vec::as_slice);
        let listed = longest_waits(all, entries);
        strips.left_out += all.len() - listed.len();
        let instances = listed
            .into_iter()
            .map(|instance| CollectiveInstance { group: named(&mut strips.names, name_of(run, instance)), ..instance.clone() });
        strips.steps.push(StepStrip {
            step: *step,
            start_ns: window[0],
            length_ns: length(window),
            instances: instances.collect(),
        });
    }
    strips
}

/// Those of `all` that have the longest waits and fit, one at least, in their order.
fn longest_waits<'a>(all: &[&'a CollectiveInstance], entries: usize) -> Vec<&'a CollectiveInstance> {
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|at| Reverse(all[*at].wait_ns.iter().max().copied()));
    let mut used = 0;
    let fits = |at: &usize| {
        used += weight(all[*at]);
        used <= entries || used == weight(all[*at])
    };
    let mut kept: Vec<usize> = order.into_iter().take_while(fits).collect();
    kept.sort_unstable();
    kept.into_iter().map(|at| all[at]).collect()
}

fn name_of(run: &Run, instance: &CollectiveInstance) -> String {
    let group = run.document.collectives.groups.get(instance.group);
    group.map_or("collective", |group| spelling::collective(&group.name, group.kind.as_str())).to_owned()
}

fn named(names: &mut Vec<String>, name: String) -> usize {
    names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use rankscope_document::{CollectiveGroup, Document, Rank, Step, Time};

    use super::*;

    /// Two ranks with so many steps, each as long, one collective in each, of which rank 1 is last.
    fn side(label: &str, steps: std::ops::Range<i64>, step_ns: i64, late_ns: i64) -> Side {
        let step = |number: i64| Step {
            step: number,
            window_ns: [number * step_ns, (number + 1) * step_ns],
            time_ns: Time { total: step_ns, ..Time::default() },
        };
        let rank = |rank| Rank { rank, steps: steps.clone().map(step).collect(), ..Rank::default() };
        let instance = |number: i64| CollectiveInstance {
            start_ns: number * step_ns + 10,
            arrival_order: vec![0, 1],
            wait_ns: vec![late_ns + number, 0],
            transfer_ns: 5,
            ..CollectiveInstance::default()
        };
        let mut document = Document { ranks: vec![rank(0), rank(1)], ..Document::default() };
        document.collectives.groups = vec![CollectiveGroup { name: "allreduce".to_owned(), ..CollectiveGroup::default() }];
        document.collectives.instances = steps.clone().map(instance).collect();
        Side::new(label, vec![Run::new(label, document)])
    }

    #[test]
    fn the_same_steps_of_both_sides_stand_beside_each_other() {
        let found = strips(&[side("base", 0..20, 1_000, 30), side("test", 8..30, 1_200, 90)]).expect("steps in common");
        let numbers = |side: &SideStrips| side.steps.iter().map(|step| step.step).collect::<Vec<_>>();
        assert_eq!(numbers(&found.sides[0]), numbers(&found.sides[1]));
        assert!(numbers(&found.sides[0]).contains(&found.typical));
        let [base, test] = [0, 1].map(|at| &found.sides[at].steps[0]);
        assert_eq!((base.length_ns, test.length_ns, base.instances.len()), (1_000, 1_200, 1));
        assert_eq!(test.instances[0].wait_ns[0], 90 + test.step);
    }

    #[test]
    fn without_a_step_or_a_collective_in_common_there_is_nothing() {
        assert_eq!(strips(&[side("base", 0..8, 1_000, 30), side("test", 20..28, 1_000, 30)]), None);
        let mut bare = side("bare", 0..8, 1_000, 30);
        bare.runs[0].document.collectives.instances.clear();
        assert_eq!(strips(&[bare.clone(), bare]), None);
        assert_eq!(strips(&[]), None);
    }

    #[test]
    fn beyond_the_budget_the_longest_waits_are_kept_and_the_others_counted() {
        let instance = |wait: i64| CollectiveInstance {
            arrival_order: vec![0, 1],
            wait_ns: vec![wait, 0],
            ..CollectiveInstance::default()
        };
        let all = [instance(3), instance(9), instance(1)];
        let all: Vec<&CollectiveInstance> = all.iter().collect();
        let waits = |entries| longest_waits(&all, entries).iter().map(|one| one.wait_ns[0]).collect::<Vec<_>>();
        assert_eq!((waits(6), waits(4), waits(0)), (vec![3, 9, 1], vec![3, 9], vec![9]));
        assert_eq!(spaced(&[1, 2, 3, 4, 5, 6], 4, 2), [2, 4, 6]);
    }
}
