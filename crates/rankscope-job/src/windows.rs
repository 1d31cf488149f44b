//! Which exports of the ranks are of one profiling window.
//!
//! A profiler whose schedule repeats exports once a window, and not every rank gets as far as the others. Windows are told by the
//! steps that the files mark; where some mark none, or where a rank's steps are counted from the start again, by their order.
//! Only windows that all ranks have are compared. Clocks of ranks are not known yet, so times of different ranks are not either.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_time::Rank;

/// One file of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Export {
    /// The rank.
    pub(crate) rank: Rank,
    /// First start and last end of its spans, on the rank's clock, in nanoseconds since the epoch.
    pub(crate) bounds_ns: (i64, i64),
    /// First and last step that it marks.
    pub(crate) steps: Option<(i64, i64)>,
    /// The file.
    pub(crate) file: String,
}

/// Exports that are compared with each other, at most one of each rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// First and last step that any of them marks, where all mark some.
    pub(crate) steps: Option<(i64, i64)>,
    /// Places among the exports given, by rank.
    pub(crate) exports: Vec<usize>,
}

/// Why an export is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// These ranks did not record its window.
    LackedBy {
        /// In order; never empty.
        ranks: Vec<Rank>,
    },
    /// Some rank exported only so often, and nothing but their order tells which belong together.
    Surplus {
        /// How many of each rank are compared.
        compared: usize,
    },
}

/// An export that is not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// Its place among the exports given.
    pub(crate) export: usize,
    /// Why.
    pub(crate) why: Why,
}

/// The windows of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Windows {
    /// In order of time.
    pub(crate) list: Vec<Window>,
    /// The rest, by rank and time.
    pub(crate) left_out: Vec<LeftOut>,
}

impl Windows {
    /// Those of `exports`: all that every rank has. If there is none, the one that most ranks have, and the latest of those.
    pub(crate) fn of(exports: &[Export]) -> Self {
        let mut of_rank: BTreeMap<Rank, Vec<usize>> = BTreeMap::new();
        for at in in_order(exports) {
            of_rank.entry(exports[at].rank).or_default().push(at);
        }
        if of_rank.values().all(|own| own.len() == 1) {
            let all: Vec<usize> = of_rank.into_values().flatten().collect();
            let list = if all.is_empty() { Vec::new() } else { vec![window(exports, all)] };
            return Self { list, left_out: Vec::new() };
        }
        by_steps(exports, &of_rank).unwrap_or_else(|| by_order(exports, &of_rank))
    }
}

/// By rank, then by time.
fn in_order(exports: &[Export]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..exports.len()).collect();
    order.sort_by_key(|at| (exports[*at].rank, exports[*at].bounds_ns, &exports[*at].file));
    order
}

/// Windows of overlapping steps, unless steps do not tell a rank's own exports apart.
fn by_steps(exports: &[Export], of_rank: &BTreeMap<Rank, Vec<usize>>) -> Option<Windows> {
    let mut ranges: Vec<((i64, i64), usize)> = Vec::new();
    for at in of_rank.values().flatten() {
        ranges.push((exports[*at].steps?, *at));
    }
    ranges.sort_by_key(|(steps, _)| *steps);
    let mut clusters: Vec<(i64, BTreeMap<Rank, usize>)> = Vec::new();
    for ((first, last), at) in ranges {
        if clusters.last().is_none_or(|(end, _)| *end < first) {
            clusters.push((last, BTreeMap::new()));
        }
        let (end, members) = clusters.last_mut()?;
        *end = last.max(*end);
        if members.insert(exports[at].rank, at).is_some() {
            return None;
        }
    }
    let most = clusters.iter().map(|(_, members)| members.len()).max()?;
    // Of several that not all have, the last one.
    let latest = clusters.iter().rposition(|(_, members)| members.len() == most)?;
    let mut windows = Windows::default();
    for (number, (_, members)) in clusters.into_iter().enumerate() {
        if members.len() == of_rank.len() || (most < of_rank.len() && number == latest) {
            windows.list.push(window(exports, members.into_values().collect()));
            continue;
        }
        let ranks: Vec<Rank> = of_rank.keys().copied().filter(|rank| !members.contains_key(rank)).collect();
        let out = |export| LeftOut { export, why: Why::LackedBy { ranks: ranks.clone() } };
        windows.left_out.extend(members.into_values().map(out));
    }
    windows.list.sort_by_key(|window| window.exports.first().map(|first| exports[*first].bounds_ns));
    windows.left_out.sort_by_key(|out| (exports[out.export].rank, exports[out.export].bounds_ns));
    Some(windows)
}

/// The first of each rank, the second, and so on, as long as all have one.
fn by_order(exports: &[Export], of_rank: &BTreeMap<Rank, Vec<usize>>) -> Windows {
    let compared = of_rank.values().map(Vec::len).min().unwrap_or(0);
    let nth = |number: usize| of_rank.values().map(|own| own[number]).collect();
    let surplus = of_rank.values().flat_map(|own| &own[compared..]);
    Windows {
        list: (0..compared).map(|number| window(exports, nth(number))).collect(),
        left_out: surplus.map(|export| LeftOut { export: *export, why: Why::Surplus { compared } }).collect(),
    }
}

fn window(exports: &[Export], members: Vec<usize>) -> Window {
    let steps: Option<BTreeSet<(i64, i64)>> = members.iter().map(|at| exports[*at].steps).collect();
    let steps = steps.and_then(|steps| {
        let first = steps.iter().map(|(first, _)| *first).min()?;
        Some((first, steps.iter().map(|(_, last)| *last).max()?))
    });
    Window { steps, exports: members }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn export(rank: u32, start_ns: i64, steps: Option<(i64, i64)>) -> Export {
        let file = format!("{rank}.{start_ns}");
        Export { rank: Rank(rank), bounds_ns: (start_ns, start_ns + 50), steps, file }
    }

    fn steps_of(windows: &Windows) -> Vec<Option<(i64, i64)>> {
        windows.list.iter().map(|window| window.steps).collect()
    }

    #[test]
    fn a_rank_that_crashed_is_compared_by_the_window_that_all_finished() {
        let exports = [
            export(0, 100, Some((2, 5))),
            export(1, 800, Some((8, 9))),
            export(1, 100, Some((2, 5))),
            export(2, 100, Some((2, 5))),
        ];
        let windows = Windows::of(&exports);
        assert_eq!(windows.list, [Window { steps: Some((2, 5)), exports: vec![0, 2, 3] }]);
        let why = Why::LackedBy { ranks: vec![Rank(0), Rank(2)] };
        assert_eq!(windows.left_out, [LeftOut { export: 1, why }]);
    }

    #[test]
    fn of_windows_that_nobody_shares_with_all_the_latest_of_most_ranks_counts() {
        let exports = [
            export(0, 100, Some((2, 5))),
            export(1, 100, Some((2, 5))),
            export(1, 800, Some((8, 9))),
            export(2, 800, Some((8, 9))),
        ];
        let windows = Windows::of(&exports);
        assert_eq!(windows.list, [Window { steps: Some((8, 9)), exports: vec![2, 3] }]);
        assert_eq!(windows.left_out.len(), 2);
    }

    #[test]
    fn steps_that_begin_again_tell_nothing_and_order_does() {
        let of = |rank| [export(rank, 100, Some((0, 3))), export(rank, 900, Some((0, 3)))];
        let windows = Windows::of(&[of(0), of(1)].concat());
        assert_eq!(windows.list.iter().map(|window| window.exports.clone()).collect::<Vec<_>>(), [vec![0, 2], vec![1, 3]]);
        assert_eq!(windows.left_out, []);
    }

    #[test]
    fn without_steps_the_first_of_each_belong_together() {
        let windows = Windows::of(&[export(0, 100, None), export(0, 900, None), export(1, 300, None)]);
        assert_eq!(windows.list, [Window { steps: None, exports: vec![0, 2] }]);
        assert_eq!(windows.left_out, [LeftOut { export: 1, why: Why::Surplus { compared: 1 } }]);
    }

    #[test]
    fn one_export_a_rank_is_one_window_whatever_the_steps() {
        let windows = Windows::of(&[export(0, 100, Some((2, 5))), export(1, 800, Some((8, 9)))]);
        assert_eq!((steps_of(&windows), windows.left_out), (vec![Some((2, 9))], vec![]));
    }

    fn any_exports() -> impl Strategy<Value = Vec<Export>> {
        let steps = prop::option::weighted(0.9, (0i64..20, 0i64..4).prop_map(|(first, more)| (first, first + more)));
        let one = (0u32..4, 0i64..1_000, steps);
        prop::collection::vec(one, 0..12).prop_map(|list| {
            let mut exports: Vec<Export> = list.into_iter().map(|(rank, start, steps)| export(rank, start, steps)).collect();
            exports.sort_by(|a, b| a.file.cmp(&b.file));
            exports.dedup_by(|a, b| a.file == b.file);
            exports
        })
    }

    proptest! {
        #[test]
        fn every_export_is_used_once_or_left_out(exports in any_exports()) {
            let windows = Windows::of(&exports);
            let used = windows.list.iter().flat_map(|window| window.exports.iter().copied());
            let mut all: Vec<usize> = used.chain(windows.left_out.iter().map(|out| out.export)).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..exports.len()).collect::<Vec<_>>());
            prop_assert_eq!(windows.list.is_empty(), exports.is_empty());
        }

        #[test]
        fn a_window_holds_one_export_of_a_rank_and_several_windows_one_of_each(exports in any_exports()) {
            let windows = Windows::of(&exports);
            let ranks: BTreeSet<Rank> = exports.iter().map(|export| export.rank).collect();
            for window in &windows.list {
                let own: BTreeSet<Rank> = window.exports.iter().map(|at| exports[*at].rank).collect();
                prop_assert_eq!(own.len(), window.exports.len());
                prop_assert!(windows.list.len() == 1 || own == ranks);
            }
        }

        #[test]
        fn the_order_of_the_files_changes_nothing(exports in any_exports().prop_flat_map(|exports| (Just(exports.clone()), Just(exports).prop_shuffle()))) {
            let named = |exports: &[Export]| {
                let windows = Windows::of(exports);
                let file = |at: &usize| exports[*at].file.clone();
                let list: Vec<_> =
                    windows.list.iter().map(|window| (window.steps, window.exports.iter().map(file).collect::<Vec<_>>())).collect();
                let out: Vec<_> = windows.left_out.iter().map(|out| (file(&out.export), out.why.clone())).collect();
                (list, out)
            };
            prop_assert_eq!(named(&exports.0), named(&exports.1));
        }
    }
}
