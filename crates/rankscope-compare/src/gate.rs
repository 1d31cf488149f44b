//! What a policy says of a comparison: which of its metrics failed, which hold, and which the evidence does not decide.
//!
//! All metrics of the gate, of all tests, are one family: however many a pattern matches, a gate fails where nothing changed in at
//! most its alpha of all cases (Holm). Nothing outside the policy decides. A metric that is not there fails: a gate that passes
//! because its metric was renamed guards nothing.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_document::{ChangeVerdict, Direction, GateCheck, GateResult, MetricComparison, OnInconclusive};
use rankscope_stats::{Evidence, RunSpread, Verdict};

use crate::Settings;
use crate::evidence::{self, Runs};
use crate::policy::{Guarded, Policy};
use crate::series::Metric;
use crate::side::Side;

/// Every test of `sides` beside the first of them, held against `policy`, which was read from `file`.
///
/// Margins, alpha and evidence are the policy's. The spread between runs is that of `settings` if a user states it there, else the
/// policy's, else that of runs of before.
pub fn gate(sides: &[Side], policy: &Policy, file: &str, settings: &Settings) -> GateResult {
    let mut result = GateResult {
        policy: file.to_owned(),
        alpha: policy.alpha.0,
        on_inconclusive: policy.on_inconclusive.clone(),
        ..GateResult::default()
    };
    let mut candidates = Vec::new();
    if let Some((base, tests)) = sides.split_first() {
        for test in tests {
            let found = Pair::of(base, test).candidates(policy, settings);
            candidates.extend(found.candidates);
            result.failed.extend(found.absent);
        }
    }
    let p: Vec<f64> = candidates.iter().map(|candidate| candidate.evidence.p.unwrap_or(1.0)).collect();
    result.family = p.len();
    for (candidate, p) in candidates.into_iter().zip(rankscope_stats::holm(&p)) {
        let (outcome, check) = candidate.judged(p, policy, result.family);
        match (outcome, &policy.on_inconclusive) {
            (Outcome::Failed, _) | (Outcome::Undecided, OnInconclusive::Fail) => result.failed.push(check),
            (Outcome::Undecided, _) => result.undecided.push(check),
            (Outcome::Held, _) => result.held.push(check),
        }
    }
    result.passed = result.failed.is_empty();
    result
}

/// A test beside the base, by metric.
struct Pair<'a> {
    test: &'a Side,
    /// Every metric of a side, with the values of each run on each side that has it, in order of names.
    metrics: BTreeMap<&'a str, (&'a Metric, [Option<Runs<'a>>; 2])>,
    clocks_ns: i64,
}

#[derive(Default)]
struct Found<'a> {
    candidates: Vec<Candidate<'a>>,
    absent: Vec<GateCheck>,
}

/// A metric that is judged together with all others.
struct Candidate<'a> {
    guarded: &'a Guarded,
    test: &'a str,
    metric: Metric,
    evidence: Evidence,
    settings: Settings,
}

enum Outcome {
    Failed,
    Undecided,
    Held,
}

impl<'a> Pair<'a> {
    fn of(base: &'a Side, test: &'a Side) -> Self {
        let mut metrics = BTreeMap::new();
        for (index, side) in [base, test].into_iter().enumerate() {
            for (metric, runs) in evidence::of_side(side) {
                let entry = metrics.entry(metric.name.as_str()).or_insert_with(|| (metric, [None, None]));
                entry.1[index] = Some(runs);
            }
        }
        Self { test, metrics, clocks_ns: evidence::uncertainty_ns(base).max(evidence::uncertainty_ns(test)) }
    }

    /// What each entry of `policy` is about. What several match is judged by the first of them.
    fn candidates(&self, policy: &'a Policy, settings: &Settings) -> Found<'a> {
        let mut found = Found::default();
        let mut taken: BTreeSet<&str> = BTreeSet::new();
        for guarded in &policy.metrics {
            let matched: Vec<_> = self.metrics.values().filter(|(metric, _)| guarded.matches(metric)).collect();
            if matched.is_empty() {
                found.absent.push(self.absent(&guarded.name, NOWHERE));
            }
            for (metric, runs) in matched {
                if !taken.insert(&metric.name) {
                    continue;
                }
                match runs {
                    [Some(base), Some(test)] => {
                        found.candidates.push(self.candidate(guarded, metric, [base, test], policy, settings));
                    }
                    [Some(_), None] => found.absent.push(self.absent(&metric.name, "only the base has this metric")),
                    _ => found.absent.push(self.absent(&metric.name, "only the test has this metric")),
                }
            }
        }
        found
    }

    fn absent(&self, metric: &str, reason: &str) -> GateCheck {
        GateCheck {
            metric: metric.to_owned(),
            test: self.test.label.clone(),
            verdict: ChangeVerdict::NoEvidence,
            reason: reason.to_owned(),
            figures: None,
        }
    }

    fn candidate(
        &self,
        guarded: &'a Guarded,
        metric: &Metric,
        [base, test]: [&Runs<'_>; 2],
        policy: &Policy,
        settings: &Settings,
    ) -> Candidate<'a> {
        let mut metric = metric.clone();
        if let Some(direction) = &guarded.direction {
            metric.direction = direction.clone();
        }
        let mut own = settings.clone();
        own.alpha = policy.alpha.0;
        if let Some(margin) = guarded.margin {
            (own.time_margin, own.bandwidth_margin) = (margin.0, margin.0);
        }
        own.run_spread = settings.run_spread.or_else(|| policy.run_spread(guarded).map(RunSpread::stated));
        let evidence = evidence::evidence(&metric, base, test, self.clocks_ns, &own);
        Candidate { guarded, test: &self.test.label, metric, evidence, settings: own }
    }
}

impl Candidate<'_> {
    /// What becomes of it, where its chance among the `family` of all metrics is `p`.
    fn judged(self, p: f64, policy: &Policy, family: usize) -> (Outcome, GateCheck) {
        let is_certain = p < policy.alpha.0;
        let own = evidence::verdict(self.evidence.verdict);
        let is_worse = matches!(own, ChangeVerdict::Regressed | ChangeVerdict::Changed);
        let verdict = if is_worse && !is_certain { ChangeVerdict::Inconclusive } else { own };
        let name = self.metric.name.clone();
        let figures =
            evidence::figures(self.metric.clone(), &self.evidence, self.evidence.p.map(|_| p), verdict.clone(), &self.settings);
        let (outcome, reason) = match self.lacking(policy) {
            Some(lacking) => (Outcome::Undecided, lacking),
            None => self.outcome(&figures, is_certain, family),
        };
        (outcome, GateCheck { metric: name, test: self.test.to_owned(), verdict, reason, figures: Some(figures) })
    }

    /// What the policy asks for and the sides do not have.
    fn lacking(&self, policy: &Policy) -> Option<String> {
        let (runs, steps) = policy.least(self.guarded);
        let least = |of: [usize; 2]| of[0].min(of[1]);
        let (has_runs, has_steps) = (least(self.evidence.runs), least(self.evidence.steps));
        // Where every run is too short, that is what the evidence says; or both sides are the same values.
        if has_runs == 0 {
            return None;
        }
        if has_runs < runs {
            return Some(format!("{has_runs} of the {runs} runs a side that the policy asks for"));
        }
        (has_steps < steps).then(|| format!("{has_steps} of the {steps} steps a side that the policy asks for"))
    }

    /// Whether it got worse by its margin or more, and a sentence about why that is said.
    fn outcome(&self, figures: &MetricComparison, is_certain: bool, family: usize) -> (Outcome, String) {
        let margin = percent(figures.margin);
        let change = format!("{}{}", signed(figures.ratio), interval(figures));
        match self.evidence.verdict {
            Verdict::Regressed | Verdict::Changed if is_certain => {
                (Outcome::Failed, format!("{change}, more than the margin of {margin}"))
            }
            Verdict::Regressed | Verdict::Changed => {
                (Outcome::Undecided, format!("{change} alone would fail, but one of {family} metrics may show it by chance"))
            }
            Verdict::Improved => (Outcome::Held, format!("improved, {change}")),
            Verdict::Equivalent => (Outcome::Held, format!("{change}, within the margin of {margin}")),
            Verdict::Inconclusive if is_bounded(figures) => {
                (Outcome::Held, format!("{change}: if it is worse, then by less than the margin of {margin}"))
            }
            Verdict::Differs => (Outcome::Undecided, format!("these runs differ by {change}; {UNKNOWN_SPREAD}")),
            Verdict::NoDifferenceSeen => (Outcome::Undecided, format!("no difference seen, {change}; {UNKNOWN_SPREAD}")),
            Verdict::NoEvidence => (Outcome::Undecided, "fewer than ten steps are left once warm-up is dropped".to_owned()),
            _ => (Outcome::Undecided, format!("{change} may be more or less than the margin of {margin}")),
        }
    }
}

/// Why an entry fails that is about nothing.
const NOWHERE: &str = "neither side has this metric; the policy may misspell it, or the runs lack it";

/// Why one run a side decides nothing.
const UNKNOWN_SPREAD: &str =
    "how much runs of one configuration differ is not known: give three runs a side, --history, or run_spread";

/// Whether the end of the interval that is worse is still within the margin.
fn is_bounded(figures: &MetricComparison) -> bool {
    match figures.direction {
        Direction::LowerIsBetter => figures.ratio_hi.is_some_and(|hi| hi < figures.margin),
        Direction::HigherIsBetter => figures.ratio_lo.is_some_and(|lo| lo > -figures.margin),
        _ => false,
    }
}

fn interval(figures: &MetricComparison) -> String {
    match (figures.ratio_lo, figures.ratio_hi) {
        (Some(lo), Some(hi)) => format!(" ({} .. {})", signed(Some(lo)), signed(Some(hi))),
        _ => String::new(),
    }
}

fn signed(ratio: Option<f64>) -> String {
    match ratio {
        Some(0.0) => "0.0 %".to_owned(),
        Some(ratio) => format!("{:+.1} %", ratio * 100.0),
        None => "a change from zero".to_owned(),
    }
}

/// A margin: as many digits as it takes.
fn percent(share: f64) -> String {
    let text = format!("{:.3}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests;
