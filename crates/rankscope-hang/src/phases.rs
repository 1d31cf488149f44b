//! Phases that ranks mark on their live pages: whoever says that it saves is not missing, until it takes longer than that may.
//!
//! How long a phase may take is the page's to say ([`PageMark::limit_ns`]). A rank that marks nothing is judged as ever.

use std::collections::BTreeMap;

use rankscope_document::{HangKind, HangRoot, HangVerdict};
use rankscope_recording::{PageMark, PagePhase};

use crate::pages::{FoundPages, seconds};
use crate::words;

/// Living ranks that mark a phase.
#[derive(Debug)]
pub(crate) struct Phases {
    /// With how long they have been in it.
    marked: BTreeMap<u32, (PageMark, i64)>,
}

impl Phases {
    pub(crate) fn of(found: &FoundPages) -> Self {
        let marked = found.pages.iter().filter(|one| !one.is_gone).filter_map(|one| {
            let mark = one.page.state.mark;
            let age_ns = found.age_ns(one, mark.began_ns).max(0);
            (mark.phase != PagePhase::Unmarked).then_some((one.page.head.rank, (mark, age_ns)))
        });
        Self { marked: marked.collect() }
    }

    /// Whether anybody is in a phase that may last, and nobody for too long.
    pub(crate) fn may_last(&self) -> bool {
        self.marked.keys().any(|rank| self.is_within(*rank)) && !self.marked.keys().any(|rank| self.is_beyond(*rank))
    }

    /// Whether a rank says what it does.
    pub(crate) fn is_marked(&self, rank: u32) -> bool {
        self.marked.contains_key(&rank)
    }

    /// Whether a rank is in a phase that may last, and has not lasted too long.
    fn is_within(&self, rank: u32) -> bool {
        self.marked.get(&rank).is_some_and(|(mark, age_ns)| mark.phase.may_take_long() && *age_ns <= mark.limit_ns())
    }

    fn is_beyond(&self, rank: u32) -> bool {
        self.marked.get(&rank).is_some_and(|(mark, age_ns)| mark.phase.may_take_long() && *age_ns > mark.limit_ns())
    }

    /// Takes ranks that may be where they are off those to blame; returns whether there were any.
    pub(crate) fn excuse(&self, verdict: &mut HangVerdict) -> bool {
        let named = verdict.roots.len();
        if verdict.kind == HangKind::Missing {
            verdict.roots.retain(|root| !self.is_within(root.rank));
        }
        verdict.roots.len() < named
    }

    /// Says of those to blame what they mark.
    pub(crate) fn explain(&self, roots: &mut [HangRoot]) {
        for root in roots {
            if let Some((mark, age_ns)) = self.marked.get(&root.rank).filter(|_| self.is_beyond(root.rank)) {
                root.why = format!("{}; {}", root.why, beyond(mark, *age_ns));
            }
        }
    }

    /// Ranks that have been in a phase for longer than it may take.
    pub(crate) fn beyond(&self) -> Vec<HangRoot> {
        let of = |(rank, (mark, age_ns)): (&u32, &(PageMark, i64))| HangRoot {
            rank: *rank,
            why: beyond(mark, *age_ns),
            ..HangRoot::default()
        };
        self.marked.iter().filter(|(rank, _)| self.is_beyond(**rank)).map(of).collect()
    }

    /// Who is in which phase that may last, and for how long: `Rank 0 is saving a checkpoint, for 40 s.` Empty where nobody is.
    pub(crate) fn sentence(&self) -> String {
        let of = |phase: &PagePhase| {
            let those = self.marked.iter().filter(|(_, (mark, _))| mark.phase == *phase);
            let (ranks, ages): (Vec<u32>, Vec<i64>) = those.map(|(rank, (_, age_ns))| (*rank, *age_ns)).unzip();
            let age_ns = ages.into_iter().max()?;
            Some(format!("{} {}, for {}.", words::are(&ranks), doing(*phase), long(age_ns)))
        };
        let lasting = PagePhase::ALL.iter().filter(|phase| phase.may_take_long());
        lasting.filter_map(of).collect::<Vec<_>>().join(" ")
    }

    /// How long the phases that ranks are in may last at most.
    pub(crate) fn limit(&self) -> String {
        let lasting = self.marked.values().filter(|(mark, _)| mark.phase.may_take_long());
        long(lasting.map(|(mark, _)| mark.limit_ns()).max().unwrap_or(0))
    }

    /// Whether all of `ranks` may be where they are, and there are any.
    pub(crate) fn explain_all(&self, mut ranks: impl Iterator<Item = u32>) -> bool {
        !self.marked.is_empty() && ranks.all(|rank| self.is_within(rank))
    }
}

fn beyond(mark: &PageMark, age_ns: i64) -> String {
    let known = match mark.before {
        0 => "which is longer than it may take".to_owned(),
        before => format!("the longest of {before} before took {}", long(mark.longest_ns)),
    };
    format!("has been {} for {}: {known}", doing(mark.phase), long(age_ns))
}

/// What a rank does in it.
const fn doing(phase: PagePhase) -> &'static str {
    match phase {
        PagePhase::Initialisation => "initialising",
        PagePhase::Evaluation => "evaluating",
        PagePhase::Checkpoint => "saving a checkpoint",
        _ => "training",
    }
}

/// `12 s`, `31 min`.
fn long(ns: i64) -> String {
    const MINUTE_NS: i64 = 60_000_000_000;
    if ns >= 2 * MINUTE_NS { format!("{} min", ns / MINUTE_NS) } else { seconds(ns) }
}
