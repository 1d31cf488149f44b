//! A probe log in windows, each with its line or with the reason why there is none: what `rankscope clock fit` tells, as a
//! document. Refuses to draw it.

use rankscope_time::Span;
use serde::Serialize;

use crate::fit::{FitOptions, WindowFit, fit_window};
use crate::nodes::{NodeEstimate, SmoothedEstimate, Solution, smoothed_estimates};
use crate::records::{ClockEvent, EdgeFit, NoFit};
use crate::{Exchange, HostInstant, NodeId, probe_log};

/// Fits `exchanges` in windows of the length `window`.
pub fn fit_log(exchanges: Vec<Exchange>, window: Span, options: &FitOptions) -> Vec<FittedWindow> {
    let mut entries = Vec::new();
    let mut before: Option<EdgeFit> = None;
    // Lines between events, each with the place of its entry: an event begins a clock anew.
    let mut runs: Vec<Vec<(usize, EdgeFit)>> = vec![Vec::new()];
    for window in probe_log::cut(exchanges, window) {
        let found = fit_window(&window, before.as_ref(), options);
        for (place, (fit, event)) in (entries.len()..).zip(found.parts()) {
            if event.is_some() {
                runs.push(Vec::new());
            }
            if let (Ok(fit), Some(run)) = (fit, runs.last_mut()) {
                run.push((place, *fit));
            }
        }
        entries.extend(self::entries(&window, &found));
        before = found.fits.into_iter().flatten().last().or(before);
    }
    for run in &runs {
        for ((place, _), smoothed) in run.iter().zip(smoothed(run, options)) {
            entries[*place].smoothed_ns = Some(smoothed.offset.as_nanos());
            entries[*place].smoothed_sigma_ns = Some(smoothed.sigma_ns);
        }
    }
    entries
}

/// The lines of a run in the light of each other: `b` is a node against the reference `a`.
fn smoothed(run: &[(usize, EdgeFit)], options: &FitOptions) -> Vec<SmoothedEstimate> {
    let node = NodeId(1);
    let solution = |(_, fit): &(usize, EdgeFit)| {
        let estimate = NodeEstimate {
            node,
            at: fit.mid + fit.offset,
            offset: fit.offset,
            skew_ppb: fit.skew_ppb,
            bound: fit.bound,
            skew_bound_ppb: fit.skew_bound_ppb,
            sigma_ns: fit.sigma_ns,
            residual_ns: 0.0,
            degraded: fit.degraded,
        };
        Solution { nodes: vec![estimate], ..Solution::default() }
    };
    smoothed_estimates(node, &run.iter().map(solution).collect::<Vec<_>>(), options.skew_change_ppb_per_s)
}

/// One line, or why there is none. What is not known is null, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FittedWindow {
    /// First stamp, by the clock of `a` as are all.
    pub start_ns: Option<i64>,
    /// Last stamp.
    pub end_ns: Option<i64>,
    /// Where the offset holds.
    pub mid_ns: Option<i64>,
    /// `b` minus `a` in the middle.
    pub offset_ns: Option<i64>,
    /// What `b` gains on `a`.
    pub skew_ppb: Option<f64>,
    /// The offset is at least this.
    pub bound_lo_ns: Option<i64>,
    /// The offset is at most this.
    pub bound_hi_ns: Option<i64>,
    /// The fastest round trip.
    pub rtt_min_ns: Option<i64>,
    /// Packets from `a` to `b` that the line rests on.
    pub points_forward: Option<u32>,
    /// Packets from `b` to `a`.
    pub points_reverse: Option<u32>,
    /// Stamps contradict each other: the bound is no guarantee.
    pub degraded: bool,
    /// How many events the window began with.
    pub steps: usize,
    /// Which.
    pub step_events: Vec<StepEvent>,
    /// One standard deviation of the offset.
    pub sigma_ns: Option<f64>,
    /// The offset in the light of all windows before and after, as far as no event parts them.
    pub smoothed_ns: Option<i64>,
    /// One standard deviation of that by chance. What the path takes longer one way than the other is not in it: two hosts alone
    /// cannot tell.
    pub smoothed_sigma_ns: Option<f64>,
    /// Why there is no line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Where a clock did not run on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum StepEvent {
    /// It was set.
    Step {
        /// When, by the clock of `a`.
        at_ns: i64,
        /// By how much.
        size_ns: i64,
    },
    /// It runs faster or slower from then on.
    RateChange {
        /// When, by the clock of `a`.
        at_ns: i64,
        /// By how much.
        rate_change_ppb: f64,
    },
}

fn entries(window: &[Exchange], found: &WindowFit) -> impl Iterator<Item = FittedWindow> {
    let whole = (found.fits.len() == 1).then(|| span(window)).flatten();
    found.parts().map(move |(fit, event)| {
        let step_events: Vec<StepEvent> = event.map(StepEvent::from).into_iter().collect();
        match fit {
            Ok(fit) => FittedWindow { steps: step_events.len(), step_events, ..FittedWindow::from(fit) },
            Err(reason) => FittedWindow {
                start_ns: whole.map(|(start, _)| start),
                end_ns: whole.map(|(_, end)| end),
                mid_ns: whole.map(|(start, end)| start + (end - start) / 2),
                reason: Some(explain(*reason)),
                ..FittedWindow::default()
            },
        }
    })
}

/// First and last stamp of `a`.
fn span(window: &[Exchange]) -> Option<(i64, i64)> {
    let sent = window.iter().flat_map(|exchange| &exchange.forward).filter_map(|passage| passage.sent);
    let received = window.iter().flat_map(|exchange| &exchange.reverse).filter_map(|passage| passage.received);
    let stamps = || sent.clone().chain(received.clone()).map(HostInstant::nanos_since_epoch);
    Some((stamps().min()?, stamps().max()?))
}

fn explain(reason: NoFit) -> String {
    match reason {
        NoFit::TooFewExchanges(count) => format!("{count} complete exchanges are too few for a line"),
        NoFit::OneDirection => "packets in one direction only: the offset is bounded on one side only".to_owned(),
        NoFit::Contradiction => "no line fits, even after dropping outliers and splitting the window".to_owned(),
    }
}

impl From<&EdgeFit> for FittedWindow {
    fn from(fit: &EdgeFit) -> Self {
        Self {
            start_ns: Some(fit.start.nanos_since_epoch()),
            end_ns: Some(fit.end.nanos_since_epoch()),
            mid_ns: Some(fit.mid.nanos_since_epoch()),
            offset_ns: Some(fit.offset.as_nanos()),
            skew_ppb: Some(fit.skew_ppb),
            bound_lo_ns: Some(fit.bound.lo.as_nanos()),
            bound_hi_ns: Some(fit.bound.hi.as_nanos()),
            rtt_min_ns: Some(fit.rtt_min.as_nanos()),
            points_forward: Some(fit.points_forward),
            points_reverse: Some(fit.points_reverse),
            degraded: fit.degraded,
            sigma_ns: Some(fit.sigma_ns),
            ..Self::default()
        }
    }
}

impl From<&ClockEvent> for StepEvent {
    fn from(event: &ClockEvent) -> Self {
        match *event {
            ClockEvent::Step { at, size } => Self::Step { at_ns: at.nanos_since_epoch(), size_ns: size.as_nanos() },
            ClockEvent::RateChange { at, by_ppb } => {
                Self::RateChange { at_ns: at.nanos_since_epoch(), rate_change_ppb: by_ppb }
            }
        }
    }
}

impl FittedWindow {
    /// The further of the bound's ends from the offset.
    pub fn half_width_ns(&self) -> Option<i64> {
        let offset_ns = self.offset_ns?;
        Some((self.bound_hi_ns? - offset_ns).max(offset_ns - self.bound_lo_ns?))
    }
}
