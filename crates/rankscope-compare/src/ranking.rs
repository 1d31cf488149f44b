//! Which of several sides is the fastest, and whether that is certain.
//!
//! Every two sides are compared, and all pairs are corrected as one family: with many sides, some are in front by chance. A winner is
//! named only where the evidence tells it apart from each of the others. Of two sides without repeats, runs differ as much as those of the
//! side whose repeats differ most.

use rankscope_document::{ChangeVerdict, PairOfSides, Place, Ranking};
use rankscope_stats::{Evidence, RUNS_MIN, RunSpread};

use crate::Settings;
use crate::evidence::{self, Runs};
use crate::series::{self, Metric, STEP};
use crate::side::Side;

/// A side with the times of its steps, a list a run, and the time that is typical of them.
struct Ranked<'a> {
    label: &'a str,
    metric: &'a Metric,
    runs: Runs<'a>,
    typical: f64,
}

impl<'a> Ranked<'a> {
    fn of(side: &'a Side) -> Option<Self> {
        let (metric, runs) = evidence::of_side(side).into_iter().find(|(metric, _)| metric.name == STEP)?;
        let mut medians: Vec<f64> = runs.iter().filter_map(|run| series::median_of_run(run)).collect();
        (!medians.is_empty()).then(|| Self { label: side.label(), metric, runs, typical: series::median(&mut medians) })
    }

    /// What says how much slower `other` is; `spread` is how much runs differ where neither of the two tells.
    fn beside(&self, other: &Self, spread: Option<RunSpread>, settings: &Settings) -> Evidence {
        evidence::evidence_or(self.metric, &self.runs, &other.runs, spread, 0, settings)
    }
}

/// The ranking of more than two sides that have steps; of fewer there is none to make.
pub(crate) fn of(sides: &[Side], settings: &Settings) -> Option<Ranking> {
    if sides.len() < 3 {
        return None;
    }
    let mut order: Vec<Ranked<'_>> = sides.iter().filter_map(Ranked::of).collect();
    order.sort_by(|a, b| a.typical.total_cmp(&b.typical));
    let fastest = order.first()?;
    let pairs = pairs(&order, settings);
    // Pairs are in order of their faster side, so those of the fastest come first.
    let of_fastest = &pairs[..order.len() - 1];
    let is_certain = !of_fastest.is_empty() && of_fastest.iter().all(|pair| pair.verdict == ChangeVerdict::Regressed);
    let first = Place {
        label: fastest.label.to_owned(),
        step_ns: Some(fastest.typical),
        shift: Some(0.0),
        lo: Some(0.0),
        hi: Some(0.0),
        verdict: ChangeVerdict::Equivalent,
    };
    let others = order[1..].iter().zip(of_fastest).map(|(side, pair)| Place {
        label: side.label.to_owned(),
        step_ns: Some(side.typical),
        shift: pair.shift,
        lo: pair.lo,
        hi: pair.hi,
        verdict: pair.verdict.clone(),
    });
    let winner = is_certain.then(|| fastest.label.to_owned());
    Some(Ranking { places: std::iter::once(first).chain(others).collect(), winner, pairs })
}

/// Every two of `order`, the faster for the base.
fn pairs(order: &[Ranked<'_>], settings: &Settings) -> Vec<PairOfSides> {
    let repeated = order.iter().filter(|side| side.runs.len() >= RUNS_MIN);
    let spreads = repeated.filter_map(|side| evidence::spread(&side.runs));
    let spread = spreads.max_by(|a, b| a.relative.total_cmp(&b.relative));
    let all = order.iter().enumerate().flat_map(|(at, base)| order[at + 1..].iter().map(move |test| (base, test)));
    let compared: Vec<(&Ranked<'_>, &Ranked<'_>, Evidence)> =
        all.map(|(base, test)| (base, test, base.beside(test, spread, settings))).collect();
    let p: Vec<f64> = compared.iter().filter_map(|(_, _, evidence)| evidence.p).collect();
    let mut corrected = rankscope_stats::holm(&p).into_iter();
    let pair = |(base, test, evidence): &(&Ranked<'_>, &Ranked<'_>, Evidence)| {
        let p_adjusted = evidence.p.and_then(|_| corrected.next());
        PairOfSides {
            base: base.label.to_owned(),
            test: test.label.to_owned(),
            shift: evidence.shift,
            lo: evidence.interval.map(|(lo, _)| lo),
            hi: evidence.interval.map(|(_, hi)| hi),
            ratio: evidence.ratio,
            p_adjusted,
            verdict: evidence::verdict_of_many(evidence, p_adjusted, settings),
        }
    };
    compared.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use rankscope_document::{Document, Rank, Step, Time};

    use super::*;
    use crate::Run;

    /// A side of `runs` runs of 30 steps around `step_ns`, which differ by up to 1 % from step to step and 0.1 % from run to run.
    fn side(label: &str, step_ns: i64, runs: i64) -> Side {
        let run = |number: i64| {
            let noise = |step: i64| ((step * 7919 + number * 104_729 + step_ns) % 101 - 50) * step_ns / 5_000;
            let total = |step: i64| step_ns + (number % 3 - 1) * step_ns / 1_000 + noise(step);
            let step =
                |step| Step { step, window_ns: [step, step + 1], time_ns: Time { total: total(step), ..Time::default() } };
            let rank = Rank { steps: (0..30).map(step).collect(), ..Rank::default() };
            Run::new(format!("{label}-{number}"), Document { ranks: vec![rank], ..Document::default() })
        };
        Side::new(label, (0..runs).map(run).collect())
    }

    fn ranking(sides: &[Side]) -> Ranking {
        of(sides, &Settings::default()).expect("a ranking")
    }

    #[test]
    fn a_winner_is_faster_than_every_other_side() {
        let sides = [side("slow", 1_100_000, 7), side("fast", 1_000_000, 7), side("middle", 1_060_000, 7)];
        let ranking = ranking(&sides);
        let order: Vec<&str> = ranking.places.iter().map(|place| place.label.as_str()).collect();
        assert_eq!(order, ["fast", "middle", "slow"]);
        assert_eq!(ranking.winner.as_deref(), Some("fast"), "{ranking:?}");
        let pairs: Vec<(&str, &str)> = ranking.pairs.iter().map(|pair| (pair.base.as_str(), pair.test.as_str())).collect();
        assert_eq!(pairs, [("fast", "middle"), ("fast", "slow"), ("middle", "slow")]);
    }

    #[test]
    fn nobody_wins_where_the_first_two_cannot_be_told_apart() {
        let ranking = ranking(&[side("a", 1_000_000, 5), side("b", 1_000_500, 5), side("c", 1_200_000, 5)]);
        assert_eq!(ranking.winner, None, "{ranking:?}");
    }

    #[test]
    fn one_run_a_side_names_no_winner_however_far_apart_they_are() {
        let ranking = ranking(&[side("a", 1_000_000, 1), side("b", 2_000_000, 1), side("c", 3_000_000, 1)]);
        assert_eq!(ranking.winner, None, "{ranking:?}");
    }

    #[test]
    fn repeats_of_one_side_tell_how_much_runs_of_the_others_differ() {
        let far = ranking(&[side("a", 1_000_000, 1), side("b", 2_000_000, 7), side("c", 3_000_000, 1)]);
        assert_eq!(far.winner.as_deref(), Some("a"), "{far:?}");
        let near = ranking(&[side("a", 1_000_000, 1), side("b", 1_002_000, 7), side("c", 1_004_000, 1)]);
        assert_eq!(near.winner, None, "{near:?}");
    }

    #[test]
    fn two_sides_are_no_ranking() {
        assert!(of(&[side("a", 1_000, 3), side("b", 2_000, 3)], &Settings::default()).is_none());
    }
}
