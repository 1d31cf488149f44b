//! What validation says of combined traces, gathered as they pass.
//!
//! Of each trace its collectives alone are kept, on the common clock; what the clock may be off by at worst comes along, so that
//! a collective is not called missed for certain where it is not.

use std::path::PathBuf;

use rankscope_align::RankMap;
use rankscope_align::combine::PlacedTrace;
use rankscope_align::validate::check_trace;
use rankscope_collectives::{CommPatterns, collectives_alone, extract};
use rankscope_document::ValidationDocument;
use rankscope_time::Span;
use rankscope_trace::Trace;

use super::clocks::Clocks;
use crate::validate::{self, Evidence, Judged, rank_of};

/// The verdict, before it is spoken.
pub(super) struct Verdict {
    evidence: Evidence,
    patterns: CommPatterns,
}

impl Verdict {
    pub(super) fn new(clocks: &Clocks) -> Self {
        let evidence = Evidence {
            traces: Vec::new(),
            checks: Vec::new(),
            collectives: Vec::new(),
            maps: Vec::new(),
            clocks: clocks.method,
            notes: clocks.notes.clone(),
            missing_ranks: clocks.missing_ranks.clone(),
            skipped: clocks.skipped.clone(),
            comparable: true,
        };
        Self { evidence, patterns: CommPatterns::default() }
    }

    /// Takes note of a trace that was moved to the common clock.
    pub(super) fn hear(&mut self, trace: &Trace, aligned: &PlacedTrace) {
        let alone = collectives_alone(trace, &self.patterns);
        self.evidence.checks.push(check_trace(trace));
        self.evidence.collectives.push(extract(rank_of(&alone), &alone, &self.patterns));
        self.evidence.maps.push(RankMap::from_offset(Span::ZERO, aligned.uncertainty_ns()));
        self.evidence.traces.push(alone);
    }

    pub(super) fn speak(self, paths: &[PathBuf]) -> ValidationDocument {
        validate::document(&Judged::of(self.evidence), paths)
    }
}
