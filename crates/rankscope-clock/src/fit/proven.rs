//! What the lines of a window prove.
//!
//! A line is drawn through whatever a stretch holds; its interval is a proof only if no clock stepped in the stretch. Nothing
//! proves that nothing happened, but three things show that something did, and a line that one of them touches is marked: its
//! halves disagree; in a window that had to be split, its halves are too coarse to agree, or nothing tells where it ends; its
//! estimate is outside its own interval.

use super::change::Part;
use super::halves::{self, Halves};
use super::joint::{self, Proof};
use super::slope::Slope;
use super::{FitOptions, line};
use crate::{EdgeFit, NoFit};

/// The lines of `parts`, each over what is shown to be its own, and those marked that prove nothing.
pub(super) fn fits(parts: Vec<Part<'_>>, near: Option<Slope>, options: &FitOptions) -> Vec<Result<EdgeFit, NoFit>> {
    let lone = parts.len() == 1;
    let settled = |place: usize| -> Result<EdgeFit, NoFit> {
        let (exchanges, fit) = (parts[place].0, parts[place].1?);
        if lone {
            return Ok(marked(fit, halves::ask(exchanges, &fit, options) == Halves::Disagree));
        }
        let ends = Ends::of(&parts, place, options);
        let own = joint::between(exchanges, ends.from, ends.until);
        match line::fit(&own, near, options) {
            Ok(fit) => Ok(marked(fit, !ends.are_proven || halves::ask(&own, &fit, options) != Halves::Agree)),
            Err(_) => Ok(marked(fit, true)),
        }
    };
    (0..parts.len()).map(settled).collect()
}

fn marked(fit: EdgeFit, doubtful: bool) -> EdgeFit {
    let outside = fit.offset < fit.bound.lo || fit.bound.hi < fit.offset;
    EdgeFit { degraded: fit.degraded || doubtful || outside, ..fit }
}

/// What a part has shown to be its own.
struct Ends {
    /// None at the beginning of the window.
    from: Option<Proof>,
    /// None at the end of the window.
    until: Option<Proof>,
    are_proven: bool,
}

impl Ends {
    /// Of the part at `place`, against the nearest lines on both sides. Beside a stretch that follows no line at all nothing is
    /// shown.
    fn of(parts: &[Part<'_>], place: usize, options: &FitOptions) -> Self {
        let change = options.skew_change_ppb_per_s;
        let (exchanges, Ok(line)) = &parts[place] else { return Self { from: None, until: None, are_proven: false } };
        let previous = beside(parts[..place].iter().rev());
        let next = beside(parts[place + 1..].iter());
        let from = previous.and_then(|previous| joint::first_after(exchanges, line, previous?, change));
        let until = next.and_then(|next| joint::last_before(exchanges, line, next?, change));
        let are_proven = (previous.is_none() || from.is_some()) && (next.is_none() || until.is_some());
        Self { from, until, are_proven }
    }
}

/// The nearest line; inside none, where clocks do what no line follows; none at the edge of the window.
fn beside<'a>(mut parts: impl Iterator<Item = &'a Part<'a>>) -> Option<Option<&'a EdgeFit>> {
    parts.find_map(|(_, fit)| match fit {
        Ok(line) => Some(Some(line)),
        Err(NoFit::Contradiction) => Some(None),
        Err(_) => None,
    })
}
