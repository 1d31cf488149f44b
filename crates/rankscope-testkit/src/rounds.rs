//! Jobs that are all rounds: a matrix product and an all-reduce, over and over, on as many ranks as one likes.
//!
//! [`Job`](crate::Job) walks its ranks together and keeps all of them, which is what a truth needs and what thousands of ranks do
//! not bear. Here every time is computed from the seed, the round and the rank alone, so that one rank is written in no memory
//! and in time that does not depend on the others. The law of collectives holds: somebody comes last, at the end of the round's
//! spread, and nobody leaves before. There are no steps, no host events and no truth but this.

use std::io::{self, Write};

use crate::Rng;

/// A job of rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// Ranks in the job.
    pub ranks: u32,
    /// All-reduces of each rank.
    pub rounds: u32,
    /// Consecutive ranks that reduce together; the last group may be smaller.
    pub group: u32,
    /// Whether collectives carry the number that communicators count them by.
    pub sequence: bool,
    /// Collectives that every rank lost, drawn for each of its own.
    pub lost: u32,
    /// Consecutive ranks on a node. Each node's clock is off by up to [`AHEAD_NS_MAX`].
    pub ranks_per_node: u32,
    /// From which all chance comes.
    pub seed: u64,
}

/// How far a node's clock is off at most, either way.
pub const AHEAD_NS_MAX: i64 = 500_000;

/// When the ranks of a group come to one round and leave it, in true nanoseconds from the start.
struct Round {
    /// When the first may come.
    from_ns: i64,
    /// When the last comes.
    last_ns: i64,
    /// When the first may leave.
    over_ns: i64,
}

/// One round of one rank: starts and ends by its own clock, in nanoseconds since [`BASE_NS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnRound {
    /// The round, counted from 0.
    pub number: u32,
    /// The matrix product.
    pub product_ns: (i64, i64),
    /// The all-reduce.
    pub reduced_ns: (i64, i64),
}

impl Rounds {
    /// Writes the trace of `rank`, as Kineto would without white space.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, rank: u32, out: &mut impl Write) -> io::Result<()> {
        let first = rank / self.group * self.group;
        let size = self.group.min(self.ranks - first);
        let all = |count: u32| (first..first + count).map(|rank| rank.to_string()).collect::<Vec<_>>().join(", ");
        let listed = if size <= LISTED_MAX { format!("[{}]", all(size)) } else { format!("[{}, ...]", all(LISTED_MAX)) };
        let name = first / self.group;
        write!(
            out,
            r#"{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"NVIDIA H100 80GB HBM3"}}],"distributedInfo":{{"backend":"nccl","rank":{rank},"world_size":{},"pg_count":1,"pg_config":[{{"pg_name":"{name}","pg_desc":"default_pg","backend_config":"cuda:nccl","pg_size":{size},"ranks":[{}]}}],"nccl_version":"2.27.5"}},"displayTimeUnit":"ms","baseTimeNanoseconds":{BASE_NS},"traceEvents":["#,
            self.ranks,
            all(size),
        )?;
        let mut parted = "";
        for OwnRound { number, product_ns: (product, computed), reduced_ns: (reduced, over) } in self.own_rounds(rank) {
            let id = 2 * number + 1;
            write!(
                out,
                r#"{parted}{{"ph":"X","cat":"kernel","name":"ampere_sgemm_128x64_nn","pid":0,"tid":7,"ts":{},"dur":{},"args":{{"External id":{id},"queued":0,"device":0,"context":1,"stream":7,"correlation":{id},"registers per thread":122,"shared memory":16384,"blocks per SM":3.878788,"warps per SM":15.515152,"grid":[64,8,1],"block":[128,1,1],"est. achieved occupancy %":24}}}},"#,
                Micros(product),
                Micros(computed - product),
            )?;
            write!(
                out,
                r#"{{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)","pid":0,"tid":20,"ts":{},"dur":{},"args":{{"External id":{},"queued":0,"device":0,"context":1,"stream":20,"correlation":{},"grid":[16,1,1],"block":[512,1,1],"Collective name":"allreduce","In msg nelems":1048576,"Out msg nelems":1048576,"Group size":{size},"dtype":"Float","In split size":"[]","Out split size":"[]","Process Group Name":"{name}","Process Group Description":"default_pg","Process Group Ranks":"{listed}""#,
                Micros(reduced),
                Micros(over - reduced),
                id + 1,
                id + 1,
            )?;
            if self.sequence {
                write!(out, r#","Seq":{number}"#)?;
            }
            out.write_all(b"}}")?;
            parted = ",\n";
        }
        write!(out, r#"],"traceName":"rank{rank}.json"}}"#)
    }

    /// What `rank` has of each round that it did not lose, in order.
    pub fn own_rounds(&self, rank: u32) -> impl Iterator<Item = OwnRound> {
        let group = rank / self.group;
        let first = group * self.group;
        let size = self.group.min(self.ranks - first);
        let ahead_ns = self.ahead_ns(rank);
        let lost = self.lost_of(rank);
        let mut after_ns = 0;
        let of_rank = move |(number, round): (u32, Round)| {
            let (come_ns, leave_ns) = self.stay(rank - first, size, number, &round);
            let [product, computed, reduced, over] =
                [after_ns + PAUSE_NS, come_ns - PAUSE_NS, come_ns, leave_ns].map(|ns| ns + ahead_ns);
            after_ns = round.over_ns + LINGER_NS;
            OwnRound { number, product_ns: (product, computed), reduced_ns: (reduced, over) }
        };
        self.rounds_of(group).map(of_rank).filter(move |own| lost.binary_search(&own.number).is_err())
    }

    /// What the clock of `rank`'s node shows more than the true time.
    pub fn ahead_ns(&self, rank: u32) -> i64 {
        let mut rng = Rng::lane(self.seed, u64::from(rank / self.ranks_per_node));
        rng.below(2 * AHEAD_NS_MAX as u64) as i64 - AHEAD_NS_MAX
    }

    /// The rounds that `rank` lost, ascending.
    fn lost_of(&self, rank: u32) -> Vec<u32> {
        let mut rng = Rng::lane(self.seed ^ LOSSES, u64::from(rank));
        let mut lost = Vec::new();
        while lost.len() < self.lost.min(self.rounds) as usize {
            let round = rng.below(u64::from(self.rounds)) as u32;
            if let Err(at) = lost.binary_search(&round) {
                lost.insert(at, round);
            }
        }
        lost
    }

    fn rounds_of(&self, group: u32) -> impl Iterator<Item = (u32, Round)> {
        let mut rng = Rng::lane(self.seed ^ ROUNDS, u64::from(group));
        let mut now_ns = 0;
        (0..self.rounds).map(move |number| {
            let from_ns = now_ns + 30_000 + rng.below(300_000) as i64;
            let last_ns = from_ns + 5_000 + rng.below(60_000) as i64;
            let over_ns = last_ns + 20_000 + rng.below(100_000) as i64;
            now_ns = over_ns + LINGER_NS;
            (number, Round { from_ns, last_ns, over_ns })
        })
    }

    /// When the one numbered `place` of `size` comes to a round and leaves it.
    fn stay(&self, place: u32, size: u32, number: u32, round: &Round) -> (i64, i64) {
        let mut common = Rng::lane(self.seed ^ LAST, u64::from(number));
        let is_last = common.below(u64::from(size)) as u32 == place;
        let mut own = Rng::lane(self.seed, u64::from(number) << 32 | u64::from(place));
        let early = own.below((round.last_ns - round.from_ns) as u64) as i64;
        let come_ns = if is_last { round.last_ns } else { round.from_ns + early };
        (come_ns, round.over_ns + own.below(LINGER_NS as u64) as i64)
    }
}

/// Nanoseconds, written as microseconds with three decimals.
struct Micros(i64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0.div_euclid(1_000), self.0.rem_euclid(1_000))
    }
}

/// What stamps count from, since the epoch. Behind it there is room for clocks that are behind.
pub const BASE_NS: i64 = 1_790_000_000_000_000_000;

/// The ends of one round lie so far apart.
const LINGER_NS: i64 = 2_000;

/// Between one kernel and the next.
const PAUSE_NS: i64 = 1_000;

/// torch lists so many ranks of a group and then three dots.
const LISTED_MAX: u32 = 30;

/// Set chance for one purpose apart from chance for another.
const LOSSES: u64 = 0x10_55;
const ROUNDS: u64 = 0x20_77;
const LAST: u64 = 0x30_99;

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const JOB: Rounds = Rounds { ranks: 40, rounds: 30, group: 40, sequence: true, lost: 0, ranks_per_node: 8, seed: 3 };

    fn reduced(job: &Rounds, rank: u32) -> Vec<(u64, i64, i64)> {
        let mut bytes = Vec::new();
        job.write(rank, &mut bytes).unwrap();
        let trace: Value = serde_json::from_slice(&bytes).unwrap();
        let micros = |event: &Value, key: &str| (event[key].as_f64().unwrap() * 1e3).round() as i64;
        let events = trace["traceEvents"].as_array().unwrap().iter();
        let reduced = events.filter(|event| event["args"]["Group size"].is_u64());
        let true_ns = |ns: i64| ns - job.ahead_ns(rank);
        reduced
            .map(|event| {
                let (start, dur) = (true_ns(micros(event, "ts")), micros(event, "dur"));
                (event["args"]["Seq"].as_u64().unwrap_or(0), start, start + dur)
            })
            .collect()
    }

    #[test]
    fn nobody_leaves_a_round_before_all_have_come() {
        for job in [JOB, Rounds { group: 8, ..JOB }] {
            let ranks: Vec<_> = (0..job.group).map(|rank| reduced(&job, rank)).collect();
            for round in 0..job.rounds as usize {
                let last = ranks.iter().map(|rank| rank[round].1).max();
                let left = ranks.iter().map(|rank| rank[round].2).min();
                assert!(last <= left, "{round}: {last:?} {left:?}");
            }
        }
    }

    #[test]
    fn a_loss_takes_away_and_changes_nothing_else() {
        let job = Rounds { lost: 5, ..JOB };
        let (all, kept) = (reduced(&JOB, 7), reduced(&job, 7));
        assert_eq!(kept.len(), all.len() - 5);
        assert!(kept.iter().all(|one| all.contains(one)));
        assert_ne!(job.lost_of(7), job.lost_of(8));
    }
}
