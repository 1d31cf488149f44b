//! Nodes whose agent was started again, brought back on to one clock.
//!
//! A host clock is the raw clock plus a constant, and every start of an agent chooses that constant anew. Left alone, the clock
//! of such a node seems to have jumped, and what is known of the one stretch would be applied with the constant of the other.
//! The constants are in the headers, so nothing has to be estimated: all that the node measured, and all that others measured
//! of it, is moved to the constant of its last start.
//!
//! Others do not say which start they measured. It is the one whose time their line lies in; a line that could be of several or
//! of none is left out instead of guessed.

use std::collections::BTreeMap;

use rankscope_time::Span;

use crate::{ClockEvent, EdgeFit, HostInstant, NoFit, NodeId, NodeWindow};

/// One start of the agent of a node, as the header says that it wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Whose.
    pub node: NodeId,
    /// Index of the first window after it.
    pub first_window: usize,
    /// What the host clock adds to the raw clock from here on.
    pub host_minus_raw_ns: i64,
}

/// Moves `windows` to the constant of each node's last start. The windows of a node follow each other in the order they were
/// written in; `starts` are in the order of `first_window`.
pub fn join(windows: &mut [NodeWindow], starts: &[Start]) {
    let last: BTreeMap<NodeId, i64> = starts.iter().map(|start| (start.node, start.host_minus_raw_ns)).collect();
    let behind = |start: &Start| Span::from_nanos(last[&start.node].saturating_sub(start.host_minus_raw_ns));
    let mut eras: BTreeMap<NodeId, Vec<Era>> = BTreeMap::new();
    let mut before: BTreeMap<NodeId, Span> = BTreeMap::new();
    let mut ahead = starts.iter().peekable();
    for (index, window) in windows.iter_mut().enumerate() {
        while let Some(start) = ahead.next_if(|start| start.first_window <= index) {
            before.insert(start.node, behind(start));
        }
        let Some(behind) = before.get(&window.node).copied() else { continue };
        move_source(window, behind);
        let eras = eras.entry(window.node).or_default();
        match eras.last_mut().filter(|era| era.behind == behind) {
            Some(era) => era.until = era.until.max(window.end),
            None => eras.push(Era { behind, from: window.start, until: window.end }),
        }
    }
    eras.retain(|_, eras| eras.iter().any(|era| era.behind != Span::ZERO));
    for record in windows.iter_mut().flat_map(|window| &mut window.edges) {
        let Some(eras) = eras.get(&record.edge.dst) else { continue };
        for fit in &mut record.fits {
            let Ok(line) = fit else { continue };
            match era_of(line, eras) {
                Some(era) => move_offset(line, era.behind),
                None => *fit = Err(NoFit::Contradiction),
            }
        }
    }
}

/// Windows in a row of one constant.
#[derive(Clone, Copy, Debug)]
struct Era {
    /// What has to be added to stamps of this constant.
    behind: Span,
    /// On the last constant.
    from: HostInstant,
    until: HostInstant,
}

/// The era that `fit` was measured in, where it can be only one. The first began and the last ended who knows when.
fn era_of<'a>(fit: &EdgeFit, eras: &'a [Era]) -> Option<&'a Era> {
    let theirs = fit.mid + fit.offset;
    let holds = |(place, era): &(usize, &Era)| {
        let at = theirs + era.behind;
        (*place == 0 || at >= era.from) && (place + 1 == eras.len() || at <= era.until)
    };
    let mut holding = eras.iter().enumerate().filter(holds);
    let (_, era) = holding.next()?;
    holding.next().is_none().then_some(era)
}

fn move_source(window: &mut NodeWindow, by: Span) {
    if by == Span::ZERO {
        return;
    }
    window.start = window.start + by;
    window.end = window.end + by;
    for record in &mut window.edges {
        for fit in record.fits.iter_mut().flatten() {
            (fit.start, fit.mid, fit.end) = (fit.start + by, fit.mid + by, fit.end + by);
            move_offset(fit, Span::ZERO - by);
        }
        for event in &mut record.events {
            let (ClockEvent::Step { at, .. } | ClockEvent::RateChange { at, .. }) = event;
            *at = *at + by;
        }
    }
}

fn move_offset(fit: &mut EdgeFit, by: Span) {
    fit.offset = fit.offset + by;
    (fit.bound.lo, fit.bound.hi) = (fit.bound.lo + by, fit.bound.hi + by);
}

#[cfg(test)]
mod tests;
