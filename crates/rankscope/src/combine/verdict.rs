//! What validation says of combined traces, gathered as they pass.
//!
//! Of each trace its collectives and what validation wants of it are kept, on the common clock; what the clock may be off by at
//! worst comes along, so that a collective is not called missed for certain where it is not.

use std::path::PathBuf;

use rankscope_align::RankMap;
use rankscope_align::combine::PlacedTrace;
use rankscope_align::validate::RankEvidence;
use rankscope_collectives::{CommPatterns, extract};
use rankscope_document::ValidationDocument;
use rankscope_pipeline::title;
use rankscope_time::{Rank, Span};
use rankscope_trace::Trace;

use super::clocks::Clocks;
use crate::validate::{self, Evidence, Judged, Origin};

/// The verdict, before it is spoken.
pub(super) struct Verdict {
    evidence: Evidence,
    patterns: CommPatterns,
}

impl Verdict {
    pub(super) fn new(clocks: &Clocks) -> Self {
        let evidence = Evidence {
            ranks: Vec::new(),
            found: Vec::new(),
            collectives: Vec::new(),
            matched: None,
            maps: Vec::new(),
            clocks: clocks.method,
            notes: clocks.notes.clone(),
            missing_ranks: clocks.missing_ranks.clone(),
            skipped: clocks.skipped.clone(),
        };
        Self { evidence, patterns: CommPatterns::default() }
    }

    /// Takes note of a trace that was moved to the common clock.
    pub(super) fn hear(&mut self, trace: &Trace, aligned: &PlacedTrace) {
        let about = &trace.provenance;
        let rank = about.rank.map_or(Rank(0), |(rank, _)| rank);
        let collectives = extract(rank, trace, &self.patterns);
        self.evidence.found.push(RankEvidence::of(trace, &collectives));
        self.evidence.collectives.push(collectives);
        self.evidence.maps.push(RankMap::from_offset(Span::ZERO, aligned.uncertainty_ns()));
        self.evidence.ranks.push(Origin { rank, host: about.host.clone(), file: about.file.clone() });
    }

    pub(super) fn speak(self, paths: &[PathBuf]) -> ValidationDocument {
        validate::document(&Judged::of(self.evidence), title(paths))
    }
}
