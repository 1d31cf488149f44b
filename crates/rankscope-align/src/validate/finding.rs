//! What a rule found, and how much it looked at.

use rankscope_trace::{SpanId, Trace};

use super::Rule;

/// Findings of one rule in one trace that are told in full; the rest is counted.
const FINDINGS_MAX: usize = 1_000;

/// One place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The event concerned.
    pub op: String,
    /// When it starts, on the trace's own clock; for what has no time, where it lies in the file.
    pub at_ns: Option<i64>,
    /// By how much the rule is missed, where that is a time.
    pub gap_ns: Option<i64>,
    /// The correlation id of the event.
    pub correlation: Option<u64>,
    /// What is wrong, in words.
    pub detail: String,
}

impl Finding {
    /// A finding about `span`.
    pub(super) fn about(trace: &Trace, span: SpanId, gap_ns: Option<i64>, detail: String) -> Self {
        Self {
            op: trace.name(span).to_owned(),
            at_ns: Some(trace.spans.start_ns(span)),
            gap_ns,
            correlation: trace.correlations.get(span),
            detail,
        }
    }
}

/// What one rule has to say about one trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The rule.
    pub rule: Rule,
    /// How much there was to judge. Zero means that the trace holds nothing the rule is about.
    pub judged: u64,
    /// How often the rule was broken.
    pub found: u64,
    /// The first of those.
    pub findings: Vec<Finding>,
}

impl Check {
    pub(super) fn of(rule: Rule) -> Self {
        Self { rule, judged: 0, found: 0, findings: Vec::new() }
    }

    /// Adds what the same rule says about a later export of the same rank.
    pub fn join(&mut self, later: Self) {
        self.judged += later.judged;
        self.found += later.found;
        let room = FINDINGS_MAX.saturating_sub(self.findings.len());
        self.findings.extend(later.findings.into_iter().take(room));
    }

    /// `count` more places where the rule is broken; the first is told in full while there is room.
    pub(super) fn find(&mut self, count: u64, first: impl FnOnce() -> Finding) {
        self.found += count;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(first());
        }
    }
}
