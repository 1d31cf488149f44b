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

/// The names of `work` on `trace`, longest first.
pub(crate) fn names(trace: &Trace, work: &[Work]) -> Vec<HotName> {
    let mut sums: FxHashMap<(StrId, Class), (u64, i64)> = FxHashMap::default();
    for piece in work {
        let sum = sums.entry((trace.spans.name[piece.span.0 as usize], piece.class)).or_default();
        *sum = (sum.0 + 1, sum.1.saturating_add(piece.end_ns - piece.start_ns));
    }
    let text = |name: StrId| trace.strings.text(name).to_owned();
    let named = |((name, class), (count, total_ns))| HotName { name: text(name), class, count, total_ns };
    let mut names: Vec<HotName> = sums.into_iter().map(named).collect();
    sort(&mut names);
    names
}

/// Adds the names of another stretch of time.
pub(crate) fn join(names: &mut Vec<HotName>, later: Vec<HotName>) {
    let places: FxHashMap<(String, Class), usize> =
        names.iter().enumerate().map(|(at, known)| ((known.name.clone(), known.class), at)).collect();
    for name in later {
        match places.get(&(name.name.clone(), name.class)) {
            Some(at) => {
                names[*at].count += name.count;
                names[*at].total_ns = names[*at].total_ns.saturating_add(name.total_ns);
            }
            None => names.push(name),
        }
    }
    sort(names);
}

/// Ties by content, so that they do not hang on what came first in a file.
fn sort(names: &mut [HotName]) {
    names.sort_unstable_by(|a, b| (b.total_ns, &a.name, a.class).cmp(&(a.total_ns, &b.name, b.class)));
}
