//! What is said when CI has ended: a line for each stage that ran, in the order in which they ran, with its seconds and those of
//! processors. A stage whose two figures are alike waits for something, or for one thread. Of one that ran beside others it is how long it had to be
//! waited for in the end.

use std::fmt;

use super::took::Took;

/// How a stage ended that did not fail.
pub(crate) enum Outcome {
    Passed,
    /// It cannot run here, and why.
    Skipped(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => write!(f, "passed"),
            Self::Skipped(why) => write!(f, "skipped: {why}"),
        }
    }
}

/// The stages so far.
#[derive(Default)]
pub(super) struct Tally(Vec<(&'static str, Took, Option<Outcome>)>);

impl Tally {
    /// Adds a stage; without an outcome it failed.
    pub(super) fn add(&mut self, name: &'static str, took: Took, outcome: Option<Outcome>) {
        self.0.push((name, took, outcome));
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|(name, ..)| name.len()).max().unwrap_or_default().max("in all".len());
        for (name, took, outcome) in &self.0 {
            let end = outcome.as_ref().map_or_else(|| "FAILED".to_owned(), Outcome::to_string);
            writeln!(f, "  {name:width$} {took}  {end}")?;
        }
        let count = |is: fn(&Option<Outcome>) -> bool| self.0.iter().filter(|(.., outcome)| is(outcome)).count();
        let passed = count(|outcome| matches!(outcome, Some(Outcome::Passed)));
        let skipped = count(|outcome| matches!(outcome, Some(Outcome::Skipped(_))));
        let total: Took = self.0.iter().map(|(_, took, _)| *took).sum();
        let all = "in all";
        write!(f, "  {all:width$} {total}  {passed} stages passed, {skipped} were skipped")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_skipped_stage_is_never_counted_as_passed() {
        let mut tally = Tally::default();
        let took = |wall, processors| Took { wall: Duration::from_secs(wall), processors: Duration::from_secs(processors) };
        tally.add("deps", took(1, 1), Some(Outcome::Passed));
        tally.add("mpi", took(2, 0), Some(Outcome::Skipped("mpicc is not installed".to_owned())));
        tally.add("clippy", took(130, 250), Some(Outcome::Passed));
        tally.add("readme", took(1, 0), None);
        let said = "  deps       1.0 s     1.0 CPU-s  passed\n  mpi        2.0 s     0.0 CPU-s  skipped: mpicc is not installed\n  \
                    clippy   130.0 s   250.0 CPU-s  passed\n  readme     1.0 s     0.0 CPU-s  FAILED\n  \
                    in all   134.0 s   251.0 CPU-s  2 stages passed, 1 were skipped";
        assert_eq!(tally.to_string(), said);
    }
}
