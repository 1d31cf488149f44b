//! Validation of a job, or of traces that pass one after the other: what is said of each by itself, and of their collectives together.
//!
//! Of each trace its collectives and what validation wants of it are kept. What a clock may be off by at worst is in its map, so
//! that a collective is not called missed for certain where it is not.

mod document;

use rankscope_align::RankMap;
use rankscope_align::combine::PlacedTrace;
use rankscope_align::validate::{Meeting, Participants, RankEvidence, meet};
use rankscope_collectives::{CommPatterns, Matched, RankCollectives, extract, match_ranks};
use rankscope_time::{Rank, Span};
use rankscope_trace::Trace;

pub use self::document::validation_document;
use crate::Job;

/// What there is to judge. Lists have one entry a rank.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    ranks: Vec<Origin>,
    /// What is to be said of each by itself.
    found: Vec<RankEvidence>,
    collectives: Vec<RankCollectives>,
    /// Which of those belong together, where anybody has looked already.
    matched: Option<Matched>,
    /// To the clock they are judged on.
    maps: Vec<RankMap>,
    /// Which clocks these are, by and large.
    pub clocks: &'static str,
    /// What is odd about them.
    pub notes: Vec<String>,
    /// Ranks without a trace.
    pub missing_ranks: Vec<u32>,
    /// Files that the job goes without, and why.
    pub skipped: Vec<String>,
}

/// Where what is said of a rank comes from.
#[derive(Clone, Debug)]
struct Origin {
    rank: Rank,
    host: Option<String>,
    file: String,
}

/// What was judged, and what came of it.
#[derive(Clone, Debug)]
pub struct Validated {
    evidence: Evidence,
    /// Who takes part in collectives.
    pub participants: Participants,
    matched: Matched,
    /// The collectives that were found on more than one of them.
    pub meetings: Vec<Meeting>,
}

impl Evidence {
    /// All of `job`, whose parts were made with checks.
    pub fn of(job: Job) -> Self {
        let (ranks, found) = job
            .ranks
            .into_iter()
            .map(|rank| {
                let origin = Origin { rank: rank.rank, host: rank.about.host, file: rank.about.file };
                (origin, rank.evidence.unwrap_or_default())
            })
            .unzip();
        Self {
            ranks,
            found,
            collectives: job.collectives,
            matched: Some(job.matched),
            clocks: job.clocks.method.name(),
            maps: job.clocks.ranks.into_iter().map(|rank| rank.map).collect(),
            notes: job.notes,
            missing_ranks: job.completeness.missing.iter().map(|rank| rank.0).collect(),
            skipped: job.skipped,
        }
    }

    /// Takes note of a trace that was moved to the common clock; `patterns` say which kernels communicate.
    pub fn hear(&mut self, trace: &Trace, placed: &PlacedTrace, patterns: &CommPatterns) {
        let about = &trace.provenance;
        let rank = about.rank.map_or(Rank(0), |(rank, _)| rank);
        let collectives = extract(rank, trace, patterns);
        self.found.push(RankEvidence::of(trace, &collectives));
        self.collectives.push(collectives);
        self.maps.push(RankMap::from_offset(Span::ZERO, placed.uncertainty_ns()));
        self.ranks.push(Origin { rank, host: about.host.clone(), file: about.file.clone() });
    }
}

impl Validated {
    /// Judges `evidence`.
    pub fn of(mut evidence: Evidence) -> Self {
        let participants = Participants::of(&evidence.found, std::mem::take(&mut evidence.collectives));
        let matched = evidence.matched.take().filter(|_| participants.are_ranks());
        let matched = matched.unwrap_or_else(|| match_ranks(&participants.collectives));
        let meetings = meet(&evidence.found, &evidence.maps.iter().collect::<Vec<_>>(), &participants, &matched);
        Self { evidence, participants, matched, meetings }
    }
}
