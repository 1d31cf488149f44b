//! Reasons: what a rank's lateness is made of, in names that a reader knows.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rankscope_execution::{Activity, Key};
use rustc_hash::FxHashMap;

use super::compared::Difference;
use super::spent::{Item, Spending};

/// One reason why a rank was late. Times are nanoseconds, over all collectives to which it came last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What sort of reason.
    pub kind: ReasonKind,
    /// The operator, kernel, annotation or function; of a wait the process group. Empty where nothing is recorded.
    pub name: String,
    /// Where in the program; else the operator that made a call. Empty where nothing is known.
    pub place: String,
    /// How much of the lateness it is. Below zero where the late rank was faster than the median one.
    pub ns: i64,
    /// How long the median rank spent on the same meanwhile.
    pub median_ns: i64,
    /// Of a wait, the index of the rank where it began.
    pub because_of: Option<usize>,
}

/// Sorts of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReasonKind {
    /// The same kernels took longer.
    LongerKernels,
    /// There were more kernels.
    MoreKernels,
    /// The device had nothing to do while the host did this.
    Host,
    /// Copies and fills.
    Copies,
    /// Communication of the rank itself, in another collective.
    Transfer,
    /// Waiting in another collective.
    Waiting,
    /// The device took long between two pieces of work that were both launched.
    DeviceGap,
    /// Nothing is recorded of it.
    Unrecorded,
}

/// The reasons of one rank.
#[derive(Clone, Debug, Default)]
pub(super) struct Reasons {
    sums: FxHashMap<(Item, Option<u32>), Sum>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    ns: i64,
    more_ns: i64,
    more_in_all_ns: i64,
    median_ns: i64,
}

/// A reason without its figures.
type Named = (ReasonKind, String, String, Option<u32>);

impl Reasons {
    pub(super) fn add(&mut self, one: &Difference) {
        let sum = self.sums.entry((one.item, one.because_of)).or_default();
        sum.ns = sum.ns.saturating_add(one.ns);
        sum.more_ns = sum.more_ns.saturating_add(one.more_ns);
        // The most that any of the median ranks tells.
        sum.more_in_all_ns = [sum.more_in_all_ns, one.more_in_all_ns].into_iter().max_by_key(|ns| ns.abs()).unwrap_or(0);
        sum.median_ns = sum.median_ns.saturating_add(one.median_ns);
    }

    /// All of them, the largest first.
    pub(super) fn named(self, spending: &Spending<'_>) -> Vec<Reason> {
        let mut named: BTreeMap<Named, (i64, i64)> = BTreeMap::new();
        let mut add = |key: Named, ns: i64, median_ns: i64| {
            let sum = named.entry(key).or_default();
            *sum = (sum.0.saturating_add(ns), sum.1.saturating_add(median_ns));
        };
        let mut carried_ns = 0_i64;
        for ((item, because_of), sum) in self.sums {
            if item == Item::Carried {
                carried_ns = carried_ns.saturating_add(sum.ns);
                continue;
            }
            let (kind, name, place) = describe(item, spending);
            let (mut ns, mut more_ns) = (sum.ns, 0);
            if kind == ReasonKind::LongerKernels {
                more_ns = sum.more_ns.clamp(sum.more_in_all_ns.min(0), sum.more_in_all_ns.max(0));
                carried_ns = carried_ns.saturating_add(sum.more_ns - more_ns);
                ns -= sum.more_ns;
            }
            if more_ns != 0 {
                add((ReasonKind::MoreKernels, name.clone(), place.clone(), None), more_ns, sum.median_ns);
            }
            add((kind, name, place, because_of), ns, sum.median_ns);
        }
        share_out(&mut named, carried_ns);
        let reason = |((kind, name, place, because_of), (ns, median_ns)): (Named, (i64, i64))| {
            let because_of = because_of.map(|rank| rank as usize);
            Reason { kind, name, place, ns, median_ns, because_of }
        };
        let mut reasons: Vec<Reason> = named.into_iter().map(reason).filter(|reason| reason.ns != 0).collect();
        // Stable: names are in order already.
        reasons.sort_by_key(|reason| Reverse(reason.ns));
        reasons
    }
}

/// Lateness that was carried over has the reasons that the rank was late for in the first place: each has its part of it, exactly.
fn share_out(named: &mut BTreeMap<Named, (i64, i64)>, carried_ns: i64) {
    let own = |kind: ReasonKind, ns: i64| i128::from(if kind == ReasonKind::Waiting { 0 } else { ns.max(0) });
    let whole: i128 = named.iter().map(|((kind, ..), (ns, _))| own(*kind, *ns)).sum();
    if whole == 0 {
        let nothing = (ReasonKind::Unrecorded, String::new(), String::new(), None);
        named.entry(nothing).or_default().0 += carried_ns;
        return;
    }
    let (mut before, mut given_ns) = (0, 0);
    for ((kind, ..), (ns, _)) in named {
        before += own(*kind, *ns);
        let by_now_ns = (i128::from(carried_ns) * before / whole) as i64;
        *ns += by_now_ns - given_ns;
        given_ns = by_now_ns;
    }
}

/// What sort of reason an item is, its name and its place.
fn describe(item: Item, spending: &Spending<'_>) -> (ReasonKind, String, String) {
    let of_key = |kind, number| {
        let key = spending.key(number);
        (kind, name(key), place(key))
    };
    let of_group = |kind, number| (kind, spending.label(number).to_owned(), String::new());
    match item {
        Item::Work(number) => of_key(kind(spending.key(number)), number),
        Item::Latency(number) => of_key(ReasonKind::Host, number),
        Item::Gap(number) => of_key(ReasonKind::DeviceGap, number),
        Item::Waiting(number) => of_group(ReasonKind::Waiting, number),
        Item::Transfer(number) => of_group(ReasonKind::Transfer, number),
        Item::Carried | Item::Nothing | Item::Doubtful => (ReasonKind::Unrecorded, String::new(), String::new()),
    }
}

fn kind(key: &Key) -> ReasonKind {
    match key.activity {
        Activity::Kernel => ReasonKind::LongerKernels,
        Activity::Copy | Activity::Fill => ReasonKind::Copies,
        Activity::Communication => ReasonKind::Transfer,
        Activity::Unrecorded => ReasonKind::Unrecorded,
        _ => ReasonKind::Host,
    }
}

/// A kernel goes by the operator that launched it, which is what the program says.
fn name(key: &Key) -> String {
    let by_operator = matches!(key.activity, Activity::Kernel | Activity::Communication) && !key.operator.is_empty();
    if by_operator { key.operator.clone() } else { key.name.clone() }
}

fn place(key: &Key) -> String {
    let known = [&key.place, &key.operator].into_iter().find(|text| !text.is_empty() && **text != name(key));
    known.cloned().unwrap_or_default()
}
