//! Clocks that jump or change their rate: where a window has to be split, and what happened there.
//!
//! A stretch that no line fits is cut behind its longest beginning that one fits, and the cut is then moved to where the
//! narrower of both sides' bands is widest: with a point of the other side in it a band collapses by the size of the step.

use rankscope_time::Span;

use super::band::Hulls;
use super::slope::Slope;
use super::{Clouds, Estimator, FitOptions, line};
use crate::{ClockEvent, EdgeFit, Exchange, HostInstant, Interval, NoFit};

/// More parts than this are no clock with events but no clock at all.
const PARTS_MAX: usize = 6;
/// The true cut is at most so many exchanges before the end of the longest beginning that a line fits.
const SEARCH: usize = 512;
/// Rates that differ by less are one rate, as far as short stretches can tell.
const RATE_CHANGE_MIN_PPB: f64 = 2_000.0;
/// A change of rate bends the line where it happened; lines that meet further from the cut than this do not meet there.
const MEETING_MAX_NS: f64 = 250e6;

/// A stretch of a window, and its line.
pub(super) type Part<'a> = (&'a [Exchange], Result<EdgeFit, NoFit>);

/// Lines over consecutive stretches of `exchanges`, which are in order of their numbers: one, or as many as it takes.
pub(super) fn split<'a>(exchanges: &'a [Exchange], near: Option<Slope>, options: &FitOptions) -> Vec<Part<'a>> {
    let fit = |(from, until): (usize, usize)| line::fit(&exchanges[from..until], near, options);
    let mut parts: Vec<((usize, usize), Result<EdgeFit, NoFit>)> = Vec::new();
    let mut from = 0;
    loop {
        let rest = (from, exchanges.len());
        let mut next = (rest, fit(rest));
        if next.1 == Err(NoFit::Contradiction) && parts.len() + 1 < PARTS_MAX {
            let until = from + cut(&exchanges[from..], near, options);
            next = ((from, until), fit((from, until)));
        }
        from = next.0.1;
        // A cut that turns out to have parted what belongs together is no event.
        let joined = parts.last().map(|(before, _)| (before.0, from)).map(|both| (both, fit(both)));
        match joined {
            Some(both) if both.1.is_ok() => parts[..].last_mut().into_iter().for_each(|last| *last = both),
            _ => parts.push(next),
        }
        if from == exchanges.len() {
            return parts.into_iter().map(|((from, until), fit)| (&exchanges[from..until], fit)).collect();
        }
    }
}

/// How many exchanges belong to the first of several lines.
fn cut(exchanges: &[Exchange], near: Option<Slope>, options: &FitOptions) -> usize {
    // An exchange that contradicts itself is a part of its own.
    let good = longest_beginning(exchanges, near, options).max(1);
    let from = good.saturating_sub(SEARCH).max(1);
    let ahead = &exchanges[good..exchanges.len().min(good + SEARCH)];
    let until = good + longest_beginning(ahead, near, options);
    let clouds = Clouds::of(&exchanges[..until]);
    let left = Widths::of(&clouds, options).growing(exchanges[..good].iter(), from);
    let right = Widths::of(&clouds, options).growing(exchanges[from..until].iter().rev(), until - good);
    // `left` grows from `from` on, `right` from `good` downwards.
    let narrower = |at: &usize| left[*at].min(right[left.len() - 1 - *at]);
    from + (0..left.len()).max_by_key(narrower).unwrap_or(0)
}

/// How many exchanges at the beginning have a line together.
fn longest_beginning(exchanges: &[Exchange], near: Option<Slope>, options: &FitOptions) -> usize {
    // Whether a line fits does not depend on how it is chosen, and bands are chosen fast.
    let options = FitOptions { estimator: Estimator::Band, ..*options };
    let fits = |count: usize| line::fit(&exchanges[..count], near, &options) != Err(NoFit::Contradiction);
    let (mut good, mut bad) = (0, exchanges.len() + 1);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if fits(middle) { good = middle } else { bad = middle }
    }
    good
}

/// The width of the widest band as exchanges are added.
struct Widths<'a> {
    clouds: &'a Clouds,
    hulls: Hulls,
    slopes: (Slope, Slope),
}

impl<'a> Widths<'a> {
    fn of(clouds: &'a Clouds, options: &FitOptions) -> Self {
        Self { clouds, hulls: Hulls::default(), slopes: options.slopes() }
    }

    /// The width after `first` exchanges, and after each one more. 0 where there is nothing yet to be wide of.
    fn growing<'e>(mut self, exchanges: impl Iterator<Item = &'e Exchange>, first: usize) -> Vec<i64> {
        let mut widths = Vec::with_capacity(SEARCH + 1);
        widths.extend((first == 0).then_some(0));
        for (exchange, count) in exchanges.zip(1..) {
            self.clouds.upper_of(exchange).for_each(|point| self.hulls.push_upper(point));
            self.clouds.lower_of(exchange).for_each(|point| self.hulls.push_lower(point));
            if count >= first {
                widths.push(self.hulls.widest(self.slopes, None).map_or(0, |band| band.width()));
            }
        }
        widths
    }
}

/// What happened between two lines that follow each other: a change of rate where they meet, else a step.
pub(super) fn event_between(left: &EdgeFit, right: &EdgeFit) -> ClockEvent {
    let cut = left.end + Span::from_nanos((right.start - left.end).as_nanos() / 2);
    let size = right.offset_at(cut) - left.offset_at(cut);
    let by_ppb = right.skew_ppb - left.skew_ppb;
    let meet_ns = -(size.as_nanos() as f64) / by_ppb * 1e9;
    match by_ppb.abs() > RATE_CHANGE_MIN_PPB && meet_ns.abs() < MEETING_MAX_NS {
        true => ClockEvent::RateChange { at: cut + Span::from_nanos(meet_ns as i64), by_ppb },
        false => ClockEvent::Step { at: cut, size },
    }
}

/// Whether no clock can have gone from one line to the other by itself.
pub(super) fn excludes(before: &EdgeFit, now: &EdgeFit, options: &FitOptions) -> bool {
    let midway = |a: HostInstant, b: HostInstant| a + Span::from_nanos((b - a).as_nanos() / 2);
    let at = midway(before.end, now.start);
    let [one, other]: [Interval; 2] = [before, now].map(|fit| fit.bound_at(at, options.skew_change_ppb_per_s));
    one.hi < other.lo || other.hi < one.lo
}
