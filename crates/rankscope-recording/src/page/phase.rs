//! What a program says that it is doing, where that is no ordinary step: standing still means something else there.

/// A phase of a training job, as its program marks it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
#[non_exhaustive]
pub enum PagePhase {
    /// It does not say.
    #[default]
    Unmarked = 0,
    /// Training, of a program that marks everything else.
    Training = 1,
    /// Before it trains: loading a checkpoint, connecting, compiling.
    Initialisation = 2,
    /// Evaluating the model.
    Evaluation = 3,
    /// Saving a checkpoint.
    Checkpoint = 4,
}

impl PagePhase {
    /// All of them, by their numbers.
    pub const ALL: [Self; 5] = [Self::Unmarked, Self::Training, Self::Initialisation, Self::Evaluation, Self::Checkpoint];

    /// Its name; empty where the program does not say.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unmarked => "",
            Self::Training => "training",
            Self::Initialisation => "initialisation",
            Self::Evaluation => "evaluation",
            Self::Checkpoint => "checkpoint",
        }
    }

    /// The one of that name, in either spelling.
    pub fn named(name: &str) -> Option<Self> {
        let name = if name == "initialization" { "initialisation" } else { name };
        Self::ALL.into_iter().find(|phase| *phase != Self::Unmarked && phase.name() == name)
    }

    /// Whether it may take long without anything that a page tells of.
    pub const fn may_take_long(self) -> bool {
        matches!(self, Self::Initialisation | Self::Evaluation | Self::Checkpoint)
    }

    /// The one of that number; of a number that a later program knows, nothing is known.
    pub(super) fn of_number(number: u64) -> Self {
        Self::ALL.get(usize::try_from(number).unwrap_or(usize::MAX)).copied().unwrap_or_default()
    }
}

/// The phase that a rank is in, and what it knows of phases of that kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageMark {
    /// Which.
    pub phase: PagePhase,
    /// When it began.
    pub began_ns: i64,
    /// How many of its kind are over.
    pub before: u64,
    /// How long the longest of those took.
    pub longest_ns: i64,
}

/// Phases of a kind that have to be over before their length is what is usual.
const KNOWN: u64 = 3;
/// So many times the longest is too long.
const SAFETY: i64 = 5;
/// Nothing shorter is.
const LEAST_NS: i64 = 30_000_000_000;
/// Of a phase of which nothing is known.
const UNKNOWN_NS: i64 = 1_800_000_000_000;

/// How long a phase may take of whose kind `before` are over, the longest of which took `longest_ns`.
pub const fn phase_limit_ns(before: u64, longest_ns: i64) -> i64 {
    if before < KNOWN {
        return UNKNOWN_NS;
    }
    let by_longest_ns = longest_ns.saturating_mul(SAFETY);
    if by_longest_ns > LEAST_NS { by_longest_ns } else { LEAST_NS }
}

impl PageMark {
    /// How long the phase may take, by those of its kind before.
    pub const fn limit_ns(&self) -> i64 {
        phase_limit_ns(self.before, self.longest_ns)
    }

    /// As words.
    pub(super) const fn words(&self) -> [u64; 4] {
        [self.phase as u64, self.began_ns as u64, self.before, self.longest_ns as u64]
    }

    /// Of words; those that an earlier program left are zeros.
    pub(super) fn of(words: [u64; 4]) -> Self {
        let [phase, began_ns, before, longest_ns] = words;
        Self { phase: PagePhase::of_number(phase), began_ns: began_ns as i64, before, longest_ns: longest_ns as i64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_has_a_name_and_a_number_by_which_it_is_found() {
        for (number, phase) in (0..).zip(PagePhase::ALL) {
            assert_eq!((phase as u64, PagePhase::of_number(number)), (number, phase));
            assert_eq!(PagePhase::named(phase.name()), Some(phase).filter(|phase| *phase != PagePhase::Unmarked));
        }
        assert_eq!(PagePhase::named("initialization"), Some(PagePhase::Initialisation));
        assert_eq!((PagePhase::named("saving"), PagePhase::of_number(99)), (None, PagePhase::Unmarked));
    }

    #[test]
    fn half_an_hour_is_allowed_until_three_of_a_kind_are_over_and_five_times_the_longest_then() {
        let limit_s = |before, longest_s: i64| {
            let longest_ns = longest_s * 1_000_000_000;
            PageMark { before, longest_ns, ..PageMark::default() }.limit_ns() / 1_000_000_000
        };
        assert_eq!([limit_s(0, 0), limit_s(2, 60), limit_s(3, 60), limit_s(9, 1)], [1_800, 1_800, 300, 30]);
        assert_eq!(PageMark { before: 3, longest_ns: i64::MAX, ..PageMark::default() }.limit_ns(), i64::MAX);
    }
}
