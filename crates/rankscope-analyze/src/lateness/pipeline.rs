//! The busiest stage of a pipeline.
//!
//! Ranks of a pipeline wait for messages, and whoever sends late may itself have waited for another: arrival says nothing about
//! guilt. What limits a pipeline is its busiest stage, the rank that computes longest while the others wait. It is named where
//! messages are most of what communication exposes, by evidence as any other late rank. A round is the same part of
//! each rank's own messages, as all stages see the same micro-batches, though not at the same time.

use crate::Accounting;

use super::{Because, Late, evidence};

/// What the stages of a pipeline did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stages<'a> {
    /// The accounts of all ranks.
    pub(crate) accounts: &'a [&'a Accounting],
    /// When each rank sent or received, on its own clock, in order.
    pub(crate) messages: &'a [Vec<i64>],
    /// The windows that were recorded, on each rank's own clock.
    pub(crate) windows_ns: &'a [&'a [(i64, i64)]],
    /// How long they are in all, on the job's clock.
    pub(crate) recorded_ns: i64,
    /// Exposed time of messages, over all ranks.
    pub(crate) messages_ns: i64,
    /// Exposed time of all communication.
    pub(crate) all_ns: i64,
}

/// Rounds that a recording is cut into.
const ROUNDS: usize = 8;

/// A stage that computes longer by less than this share of what was recorded is nobody's headline.
const SHARE_MIN: f64 = 0.03;

/// Times the busiest stage computes what the next does.
const BUSIER_MIN: f64 = 1.2;

/// The stage that limits the pipeline, if these are stages of one and one of them stands out.
pub(super) fn busiest(stages: &Stages<'_>) -> Option<Late> {
    let recorded_ns = stages.recorded_ns;
    let ranks: Vec<usize> = (0..stages.accounts.len()).filter(|rank| stages.messages[*rank].len() >= ROUNDS).collect();
    if ranks.len() < 2 || recorded_ns <= 0 || stages.messages_ns.saturating_mul(2) < stages.all_ns.max(1) {
        return None;
    }
    let by_round: Vec<Vec<i64>> = ranks.iter().map(|rank| computed(stages, *rank)).collect();
    let total = |stage: &usize| by_round[*stage].iter().sum::<i64>();
    let stage = (0..ranks.len()).max_by_key(|stage| (total(stage), std::cmp::Reverse(*stage)))?;
    let next = (0..ranks.len()).filter(|other| *other != stage).max_by_key(total)?;
    let (busy_ns, next_ns) = (total(&stage), total(&next));
    let confidence = evidence::of_ratios(&ratios(&by_round, stage), ranks.len())?;
    let delay_wall_ns = (busy_ns - next_ns).min(recorded_ns);
    let large = delay_wall_ns as f64 >= SHARE_MIN * recorded_ns as f64 && busy_ns as f64 >= BUSIER_MIN * next_ns as f64;
    let lead: Vec<i64> = by_round[stage].iter().zip(&by_round[next]).map(|(own, next)| own - next).collect();
    let sampling_ns = evidence::half_width(&lead);
    large.then(|| Late {
        rank: ranks[stage],
        delay_wall_ns,
        lo_ns: delay_wall_ns.saturating_sub(sampling_ns).max(0),
        hi_ns: delay_wall_ns.saturating_add(sampling_ns).min(recorded_ns),
        share: delay_wall_ns as f64 / recorded_ns as f64,
        confidence,
        because: Because::BusiestStage { busy_ns, next_ns },
    })
}

/// How many times what the other stages compute on average `stage` does, in each round that counts and holds anything. Rounds of
/// forward and of backward passes differ in length and agree in this.
fn ratios(by_round: &[Vec<i64>], stage: usize) -> Vec<f64> {
    let others = (by_round.len() - 1).max(1) as f64;
    let mean = |round: usize| {
        let all: i64 = by_round.iter().map(|rounds| rounds[round]).sum();
        (all - by_round[stage][round]) as f64 / others
    };
    let rounds = ROUNDS - evidence::kept(ROUNDS)..ROUNDS;
    let ratio = |round: usize| by_round[stage][round] as f64 / mean(round);
    rounds.map(ratio).filter(|ratio| ratio.is_finite() && *ratio > 0.0).collect()
}

/// What `rank` computed in each round: between its messages, equally many to a round.
fn computed(stages: &Stages<'_>, rank: usize) -> Vec<i64> {
    let messages = &stages.messages[rank];
    let edge = |round: usize| match round {
        0 => i64::MIN,
        ROUNDS => i64::MAX,
        inner => messages[inner * messages.len() / ROUNDS],
    };
    let within = |round: usize| {
        let pieces = stages.windows_ns[rank].iter().map(|(from, to)| ((*from).max(edge(round)), (*to).min(edge(round + 1))));
        pieces.filter(|(from, to)| from < to).map(|(from, to)| stages.accounts[rank].window(from, to).computation_ns).sum()
    };
    (0..ROUNDS).map(within).collect()
}

#[cfg(test)]
mod tests {
    use rankscope_trace::SpanId;

    use super::*;
    use crate::{Class, Work};

    /// Stages that take `micros` of computing a micro-batch, one after the other; a message follows each.
    fn stages_of(micros: [i64; 4]) -> (Vec<Accounting>, Vec<Vec<i64>>) {
        let slowest = micros.iter().max().copied().unwrap();
        let stage = |(stage, own): (usize, &i64)| {
            let start = |batch: i64| (batch * slowest + stage as i64 * 50) * 1_000;
            // A little uneven, as real ones are.
            let length = |batch: i64| own * 1_000 + batch % 3 * 900;
            let piece = |batch: i64| Work {
                span: SpanId(batch as u32),
                start_ns: start(batch),
                end_ns: start(batch) + length(batch),
                class: Class::Compute,
            };
            let work: Vec<Work> = (0..24).map(piece).collect();
            (Accounting::of(&work), work.iter().map(|piece| piece.end_ns).collect())
        };
        micros.iter().enumerate().map(stage).unzip()
    }

    fn judged(micros: [i64; 4], messages_ns: i64) -> Option<Late> {
        let (accounts, messages) = stages_of(micros);
        let accounts: Vec<&Accounting> = accounts.iter().collect();
        let recorded_ns = accounts.iter().map(|account| account.extent_ns().1).max().unwrap();
        let window_ns = [(0, recorded_ns)];
        let windows_ns = vec![&window_ns[..]; accounts.len()];
        let (accounts, messages) = (&accounts, &messages);
        busiest(&Stages { accounts, messages, windows_ns: &windows_ns, recorded_ns, messages_ns, all_ns: 100 })
    }

    #[test]
    fn the_busiest_stage_is_named_and_even_stages_are_not() {
        for stage in 0..4 {
            let mut micros = [100; 4];
            micros[stage] = 200;
            let late = judged(micros, 80).unwrap();
            assert_eq!(late.rank, stage);
            assert!((2_300_000..=2_500_000).contains(&late.delay_wall_ns), "{late:?}");
        }
        assert_eq!(judged([100; 4], 80), None);
        assert_eq!(judged([100, 110, 105, 100], 80), None, "within what stages differ by anyway");
    }

    #[test]
    fn where_messages_are_few_nobody_looks_for_stages() {
        assert_eq!(judged([100, 200, 100, 100], 20), None);
    }
}
