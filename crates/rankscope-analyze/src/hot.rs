//! What ran longest, by name.

use rankscope_trace::{StrId, Trace};
use rustc_hash::FxHashMap;

use crate::{Class, Work};

/// All work of one name and class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotName {
    /// The name.
    pub name: String,
    /// What it is.
    pub class: Class,
    /// How often it ran.
    pub count: u64,
    /// Sum of its lengths: work that overlaps itself counts twice.
    pub total_ns: i64,
}

/// The `most` names with the longest sums, longest first.
pub(crate) fn hottest(trace: &Trace, work: &[Work], most: usize) -> Vec<HotName> {
    let mut sums: FxHashMap<(StrId, Class), (u64, i64)> = FxHashMap::default();
    for piece in work {
        let sum = sums.entry((trace.spans.name[piece.span.0 as usize], piece.class)).or_default();
        *sum = (sum.0 + 1, sum.1.saturating_add(piece.end_ns - piece.start_ns));
    }
    let mut names: Vec<_> = sums.into_iter().collect();
    names.sort_unstable_by_key(|((name, class), (_, total))| (std::cmp::Reverse(*total), *name, class.name()));
    names.truncate(most);
    let text = |name: StrId| trace.strings.text(name).to_owned();
    names.into_iter().map(|((name, class), (count, total_ns))| HotName { name: text(name), class, count, total_ns }).collect()
}
