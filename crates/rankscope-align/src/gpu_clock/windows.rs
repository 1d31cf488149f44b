//! Stretches of at most ten seconds, and a line for each.
//!
//! They are taken in order, because what contradicts in one ends the use of its communicator in all that follow. A contradiction that
//! no single communicator explains ends the use of all in its window: the GPU's clock may have been set, or the times may be those of
//! other operations, and nothing tells which.

use rankscope_clock::fit::{Estimator, FitOptions, fit_window};
use rankscope_clock::{EdgeFit, Exchange, HostInstant, NoFit, Passage};
use rankscope_trace::StrId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::grain::Readings;
use super::told::{Told, Usable};
use super::{GpuClock, GpuClockWindow, NoLine, Unusable, conflicts, proof};

/// The longest stretch that one line is drawn over: a clock is no line for much longer.
const WINDOW_NS: i64 = 10_000_000_000;
/// Communicators of which each is tried for the one that is wrong.
const TRIED_MAX: usize = 16;

/// A line, and what it was drawn through.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) fit: EdgeFit,
    pub(super) told: Vec<Told>,
    /// What the bounds were loosened by.
    pub(super) loosened_ns: i64,
    /// Nothing in its stretch or the next one looks odd.
    pub(super) is_sure: bool,
}

/// Draws lines through `usable` and files them in `clock`.
pub(super) fn place(usable: &Usable, readings: &Readings, clock: &mut GpuClock) -> Vec<Line> {
    let Usable { told, impossible_ns } = usable;
    let (Some(first), Some(last)) = (told.first(), told.last()) else { return Vec::new() };
    let (first_ns, length_ns) = (first.seen_ns, window_length_ns(last.seen_ns - first.seen_ns));
    let number = |seen_ns: i64| seen_ns.saturating_sub(first_ns).div_euclid(length_ns);
    let is_impossible: FxHashSet<i64> = impossible_ns.iter().map(|seen_ns| number(*seen_ns)).collect();
    let mut placing = Placing { readings, clock, banned: FxHashSet::default(), before: None, lines: Vec::new() };
    for window in told.chunk_by(|a, b| number(a.seen_ns) == number(b.seen_ns)) {
        let (drawn, contradicted) = (placing.lines.len(), placing.contradicted());
        placing.window(window);
        // Whatever it is that contradicts, it may have begun before it did so.
        if placing.contradicted() > contradicted || is_impossible.contains(&number(window[0].seen_ns)) {
            placing.lines[drawn.saturating_sub(1)..].iter_mut().for_each(|line| line.is_sure = false);
        }
    }
    placing.lines
}

/// What windows of so much time in all are long, so that none is much shorter than the others.
fn window_length_ns(all_ns: i64) -> i64 {
    let windows = all_ns / WINDOW_NS + 1;
    all_ns / windows + 1
}

struct Placing<'a> {
    readings: &'a Readings,
    clock: &'a mut GpuClock,
    /// Communicators that are used no more.
    banned: FxHashSet<StrId>,
    before: Option<EdgeFit>,
    lines: Vec<Line>,
}

impl Placing<'_> {
    /// Operations that contradicted others so far, and stretches in which all did.
    fn contradicted(&self) -> u64 {
        self.clock.unusable(Unusable::Contradicts) + self.clock.lineless(NoLine::Contradiction)
    }

    fn window(&mut self, told: &[Told]) {
        let (mut told, passed): (Vec<Told>, Vec<Told>) = told.iter().partition(|one| !self.banned.contains(&one.group));
        self.refuse(passed.len(), Unusable::AfterContradiction);
        let (Some(first), Some(last)) = (told.first(), told.last()) else { return };
        let loosened_ns = self.clock.step_ns.saturating_add(self.readings.off_ns(first.seen_ns, last.seen_ns));
        self.drop_contradicting(&mut told, loosened_ns);
        match line(&told, loosened_ns, self.before.as_ref()) {
            Ok(fit) => self.file(&fit, told, loosened_ns),
            Err(NoLine::Contradiction) => self.blame(&told, loosened_ns),
            Err(reason) => self.clock.lineless[reason as usize] += 1,
        }
    }

    /// Takes out what contradicts most of `told`, and what comes after it in its communicator.
    fn drop_contradicting(&mut self, told: &mut Vec<Told>, loosened_ns: i64) {
        loop {
            let found = conflicts::contradicting(told, loosened_ns);
            if found.is_empty() {
                return;
            }
            let mut first: FxHashMap<StrId, usize> = FxHashMap::default();
            for at in &found {
                first.entry(told[*at].group).or_insert(*at);
            }
            let stays = |at: usize| first.get(&told[at].group).is_none_or(|from| at < *from);
            let kept: Vec<Told> = (0..told.len()).filter(|at| stays(*at)).map(|at| told[at]).collect();
            self.refuse(found.len(), Unusable::Contradicts);
            self.refuse(told.len() - kept.len() - found.len(), Unusable::AfterContradiction);
            self.banned.extend(first.into_keys());
            *told = kept;
        }
    }

    /// Finds the communicator without which the others agree, or blames all.
    fn blame(&mut self, told: &[Told], loosened_ns: i64) {
        let mut groups: Vec<StrId> = told.iter().map(|one| one.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let tried = if (2..=TRIED_MAX).contains(&groups.len()) { &groups[..] } else { &[] };
        let without = |group: &StrId| {
            let others: Vec<Told> = told.iter().filter(|one| one.group != *group).copied().collect();
            let fit = line(&others, loosened_ns, self.before.as_ref()).ok()?;
            Some((*group, fit, others))
        };
        // Of several that may be the wrong one, that with the fewest operations is.
        match tried.iter().filter_map(without).min_by_key(|(_, _, others)| told.len() - others.len()) {
            Some((group, fit, others)) => {
                self.refuse(told.len() - others.len(), Unusable::Contradicts);
                self.banned.insert(group);
                self.file(&fit, others, loosened_ns);
            }
            None => {
                self.refuse(told.len(), Unusable::Contradicts);
                self.banned.extend(groups);
                self.clock.lineless[NoLine::Contradiction as usize] += 1;
            }
        }
    }

    fn refuse(&mut self, operations: usize, reason: Unusable) {
        self.clock.unusable[reason as usize] += operations as u64;
    }

    fn file(&mut self, fit: &EdgeFit, told: Vec<Told>, loosened_ns: i64) {
        let instant = |at: HostInstant| at.nanos_since_epoch();
        let window = GpuClockWindow {
            start_ns: instant(fit.start),
            end_ns: instant(fit.end),
            at_ns: instant(fit.mid),
            offset_ns: fit.offset.as_nanos(),
            lo_ns: fit.bound.lo.as_nanos(),
            hi_ns: fit.bound.hi.as_nanos(),
            drift_ppb: fit.skew_ppb.round() as i64,
            drift_lo_ppb: fit.skew_bound_ppb.0.floor() as i64,
            drift_hi_ppb: fit.skew_bound_ppb.1.ceil() as i64,
            // Each went in as a pair.
            above: fit.points_forward / 2,
            below: fit.points_reverse / 2,
            proven: !fit.degraded,
        };
        let odd = Some(&window).filter(|window| !window.proven);
        let proven = odd.and_then(|odd| proof::proven(odd, &told, loosened_ns, &FitOptions::usual(Estimator::Band)));
        self.clock.windows.push(proven.unwrap_or(window));
        self.before = Some(*fit);
        self.lines.push(Line { fit: *fit, told, loosened_ns, is_sure: !fit.degraded });
    }
}

/// The one line through `told`, which goes on where `before` ended.
fn line(told: &[Told], loosened_ns: i64, before: Option<&EdgeFit>) -> Result<EdgeFit, NoLine> {
    let fit = fit_window(&exchanges(told, loosened_ns), before, &FitOptions::usual(Estimator::Band));
    match fit.fits[..] {
        [Ok(line)] if fit.events.is_empty() => Ok(line),
        [Err(NoFit::TooFewExchanges(_))] => Err(NoLine::TooFew),
        [Err(NoFit::OneDirection)] => Err(NoLine::OneSided),
        _ => Err(NoLine::Contradiction),
    }
}

/// The bounds as packets that went there and back; each counts as a pair of packets that travelled alike. A launch before the window's
/// first stop was seen would stretch it, and bounds little.
fn exchanges(told: &[Told], loosened_ns: i64) -> Vec<Exchange> {
    let first_ns = told.first().map_or(0, |one| one.seen_ns);
    let is_within = |one: &&Told| one.launched_ns.is_some_and(|launched_ns| launched_ns >= first_ns.saturating_sub(BEFORE_NS));
    let mut above: Vec<Told> = told.iter().filter(is_within).copied().collect();
    above.sort_by_key(|one| one.launched_ns);
    let at = |ns: i64| Some(HostInstant::from_nanos_since_epoch(ns));
    let there = |one: &Told| [Passage { sent: one.launched_ns.and_then(at), received: at(one.start_ns + loosened_ns) }; 2];
    let back = |one: &Told| [Passage { sent: at(one.stop_ns - loosened_ns), received: at(one.seen_ns) }; 2];
    let exchange = |number: usize| Exchange {
        sequence: number as u32,
        forward: above.get(number).map(there).unwrap_or_default(),
        reverse: told.get(number).map(back).unwrap_or_default(),
    };
    (0..told.len()).map(exchange).collect()
}

/// Launches up to so long before the first stop of a window was seen are of it: a tenth of it.
pub(super) const BEFORE_NS: i64 = WINDOW_NS / 10;
