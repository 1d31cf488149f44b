//! What is known about why a part changed, in a few words.

use std::collections::BTreeSet;

use rankscope_document::{CollectiveInstanceRow, CollectiveSummary, StructureChange, StructureKind};

use super::account::RankPair;
use super::split::{Amounts, Part};
use crate::common::Source;
use crate::names;
use crate::series::collective_name;
use crate::structure::Fate;
use crate::work::{Collective, Leaf, RankWork};

/// Kernels of an operator that are told; `structure` has all of them.
const KERNELS_MAX: usize = 4;

/// Why, and whether more than time changed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Why {
    pub(super) detail: Option<String>,
    pub(super) is_structural: bool,
}

/// What is said of marks that one side lost.
pub(super) fn lost_marks(in_test: bool) -> String {
    let side = if in_test { "test" } else { "base" };
    format!("the {side} lost the mark; all else is compared by the iteration of the whole trace")
}

/// Why `part` of the rank changed.
pub(super) fn of(part: &Part, amounts: &Amounts, pair: &RankPair<'_>) -> Why {
    let Part::Leaf(leaf) = part else { return Why::default() };
    let mut words = structural(leaf, pair);
    let is_structural = !words.is_empty();
    words.extend(count(amounts, pair));
    if amounts.delta_ns() != 0 {
        words.extend(match leaf {
            Leaf::Transfer(of) => bandwidth(of, pair),
            Leaf::Wait(of) => last_rank(of, pair),
            Leaf::Hidden(of) => hidden(of, pair),
            Leaf::Copy { direction, name } => copy_rate(direction, name, pair),
            _ => None,
        });
        if words.is_empty() {
            words.extend(slower(amounts, pair));
        }
    }
    Why { is_structural: is_structural || differs(amounts, pair), detail: (!words.is_empty()).then(|| words.join("; ")) }
}

fn structural(leaf: &Leaf, pair: &RankPair<'_>) -> Vec<String> {
    let changes = &pair.structure;
    let replaced = |found: Option<&StructureChange>, what: &str| {
        let change = found?;
        Some(format!("{what}: {} → {}", change.name, change.replaced_by.as_ref()?))
    };
    match leaf {
        Leaf::Operator { name, arguments } => {
            let operator = changes.within(&StructureKind::Operator, None).find(|(_, change)| change.name == *name);
            let own = |change: &&StructureChange| arguments.as_ref().is_none_or(|arguments| *arguments == change.name);
            let shapes = changes.within(&StructureKind::Arguments, Some(name)).map(|(_, change)| change).find(own);
            let mut kernels: Vec<_> = changes.within(&StructureKind::Kernel, Some(name)).collect();
            kernels.sort_by_key(|(fate, _)| *fate == Fate::Gone);
            let kernels = kernels.into_iter().filter_map(|(fate, change)| match fate {
                Fate::Swapped => replaced(Some(change), "other kernel"),
                Fate::New => Some(format!("new kernel: {}", change.name)),
                Fate::Gone => Some(format!("kernel gone: {}", change.name)),
                Fate::Count => None,
            });
            // One kernel may be replaced in many modules.
            let kernels: BTreeSet<(usize, String)> =
                kernels.map(|word| (usize::from(word.starts_with("kernel gone")), word)).collect();
            let kernels = kernels.into_iter().map(|(_, word)| word).take(KERNELS_MAX);
            let called = arguments.as_ref().map(|arguments| names::call(name, arguments));
            let details = [(StructureKind::Strides, "other strides"), (StructureKind::Values, "other values")];
            let details = details.iter().flat_map(|(kind, what)| {
                let own = changes.within(kind, called.as_deref()).filter(|_| called.is_some());
                own.filter_map(move |(_, change)| replaced(Some(change), what)).collect::<Vec<_>>()
            });
            let details: Vec<String> = details.take(KERNELS_MAX).collect();
            let mut words: Vec<String> = replaced(operator.map(|(_, change)| change), "other operator").into_iter().collect();
            words.extend(replaced(shapes, "other arguments"));
            words.extend(details);
            words.extend(kernels);
            words
        }
        Leaf::Kernel(name) => {
            let own = changes.within(&StructureKind::Kernel, None).map(|(_, change)| change);
            replaced(own.into_iter().find(|change| change.name == *name), "other kernel").into_iter().collect()
        }
        // That it is another one is said of its time.
        Leaf::Hidden(_) => Vec::new(),
        _ => leaf.collective().map_or_else(Vec::new, |of| {
            let name = of.name();
            let own = changes.within(&StructureKind::Collective, Some(&of.group)).map(|(_, change)| change);
            replaced(own.into_iter().find(|change| change.name == name), "other size").into_iter().collect()
        }),
    }
}

/// How often it is there, where that changed.
fn count(amounts: &Amounts, pair: &RankPair<'_>) -> Option<String> {
    if !differs(amounts, pair) {
        return None;
    }
    let per = |side: usize, iterations: u64| amounts.sums[side].count as f64 / iterations as f64;
    let (base, test) = (per(0, pair.iterations.base), per(1, pair.iterations.test));
    Some(match (amounts.sums[0].count, amounts.sums[1].count) {
        (0, _) => format!("new, {} a step", plain(test)),
        (_, 0) => format!("gone, was {} a step", plain(base)),
        _ => format!("{} → {} a step", plain(base), plain(test)),
    })
}

/// Whether it is there another number of times in an iteration; half a time may be the ends of a recording.
fn differs(amounts: &Amounts, pair: &RankPair<'_>) -> bool {
    let [base, test] = amounts.sums.map(|sum| sum.count);
    if pair.iterations.base == pair.iterations.test {
        return base != test;
    }
    (base as f64 / pair.iterations.base as f64 - test as f64 / pair.iterations.test as f64).abs() >= 0.5
}

fn plain(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// How much longer each takes over all runs, where there are as many.
fn slower(amounts: &Amounts, pair: &RankPair<'_>) -> Option<String> {
    let per = |side: usize, iterations: u64| {
        let (ns, count) = (amounts.ns[side], amounts.sums[side].count);
        (count > 0 && ns > 0).then(|| ns as f64 * iterations as f64 / count as f64)
    };
    let ratio = per(1, pair.iterations.test)? / per(0, pair.iterations.base)? - 1.0;
    let word = if ratio < 0.0 { "faster" } else { "slower" };
    Some(format!("as many, each {word} by {:.1} %", ratio.abs() * 100.0))
}

fn bandwidth(of: &Collective, pair: &RankPair<'_>) -> Option<String> {
    let after = pair.structure.test_of(&Leaf::Transfer(of.clone())).collective()?.clone();
    let (base, test) = (busbw(of, pair.base[0].work)?, busbw(&after, pair.test[0].work)?);
    Some(format!("bus bandwidth {base:.1} → {test:.1} GB/s"))
}

fn busbw(of: &Collective, work: RankWork<'_>) -> Option<f64> {
    let rows = work.document.collective_tables.as_ref()?.nccl_summary_implicit_sync.as_ref()?;
    let is_own = |row: &&CollectiveSummary| {
        row.kind.as_str() == of.kind && row.dtype == of.dtype && row.in_elements == of.elements && row.process_group == of.group
    };
    rows.iter().find(is_own)?.busbw_mean_gbps
}

/// Whom it waits for: the rank that comes last most often.
fn last_rank(of: &Collective, pair: &RankPair<'_>) -> Option<String> {
    let after = pair.structure.test_of(&Leaf::Wait(of.clone())).collective()?.clone();
    let name = format!("comm.{}", after.name());
    let rows = pair.test[0].work.document.collective_tables.as_ref()?.nccl_implicit_sync.as_ref()?;
    let is_own = |row: &&CollectiveInstanceRow| row.process_group == after.group && collective_name(row) == name;
    let mut last: std::collections::BTreeMap<u32, usize> = std::collections::BTreeMap::new();
    rows.iter().filter(is_own).filter_map(|row| row.last_rank).for_each(|rank| *last.entry(rank).or_default() += 1);
    let all: usize = last.values().sum();
    let (rank, most) = last.into_iter().max_by_key(|(rank, count)| (*count, std::cmp::Reverse(*rank)))?;
    (rank != pair.number).then(|| format!("rank {rank} comes last in {most} of {all}"))
}

/// How much of the time in it compute hides.
fn hidden(of: &Collective, pair: &RankPair<'_>) -> Option<String> {
    let after = pair.structure.test_of(&Leaf::Hidden(of.clone())).collective()?.clone();
    let percent = |of: &Collective, work: RankWork<'_>| {
        let rows = || work.collectives().filter(|(own, _)| own == of).map(|(_, row)| row);
        let (sum_ns, exposed_ns) =
            (rows().map(|row| row.sum_ns).sum::<i64>(), rows().filter_map(|row| row.exposed_ns).sum::<i64>());
        (sum_ns > 0).then(|| (1.0 - exposed_ns as f64 / sum_ns as f64) * 100.0)
    };
    let (base, test) = (percent(of, pair.base[0].work)?, percent(&after, pair.test[0].work)?);
    Some(format!("compute hides {base:.1} → {test:.1} % of it"))
}

fn copy_rate(direction: &str, name: &str, pair: &RankPair<'_>) -> Option<String> {
    let rate = |work: RankWork<'_>| {
        let rows = work.tables(Source::Copies)?.copies.as_ref()?;
        rows.iter().find(|row| row.direction == direction && row.name == name)?.gb_per_s
    };
    let (base, test) = (rate(pair.base[0].work)?, rate(pair.test[0].work)?);
    Some(format!("{base:.1} → {test:.1} GB/s"))
}
