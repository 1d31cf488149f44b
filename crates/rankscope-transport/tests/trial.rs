//! Plans executed by threads, and what the comparison with the simulator notices.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::thread;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;
use rankscope_dispatch::movement::ElementType;
use rankscope_dispatch::{Batch, RankExchange, Rows, Shard, TensorName};
use rankscope_time::Rank;
use rankscope_transport::execute::{ExecuteError, Outcome, Trial};
use rankscope_transport::{Threads, Transport, TransportError};

/// Long enough for a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(120);
/// Key rows of 16 bytes, query rows with a tail, output rows with log-sum-exp: in bf16.
const ROWS: Rows = Rows { hidden_q: 12, hidden_kv: 8, lse: 2, element_bytes: 2 };

fn shard(linear: u32, attention: u32, tokens: u32) -> Shard {
    Shard { linear: Rank(linear), attention: Rank(attention), tokens }
}

fn batch(world_size: u32, documents: &[Vec<Shard>]) -> Batch {
    let mut batch = Batch::new(world_size).unwrap();
    documents.iter().for_each(|document| batch.push(document).unwrap());
    batch
}

fn trial(batch: &Batch, repeat: u32) -> Trial {
    Trial::new(batch, &ROWS, ElementType::Bf16, repeat, 5).unwrap()
}

fn on_threads(batch: &Batch, repeat: u32) -> Vec<Outcome> {
    trial(batch, repeat).run_threads(Threads::job(batch.world_size(), PATIENCE)).unwrap()
}

/// Any rank may hold and compute anything; empty documents, shards and ranks occur.
fn batches() -> impl Strategy<Value = Batch> {
    (1_u32..9).prop_flat_map(|world_size| {
        let shard =
            (0..world_size, 0..world_size, 0_u32..9).prop_map(|(linear, attention, tokens)| shard(linear, attention, tokens));
        vec(vec(shard, 0..7), 0..6).prop_map(move |documents| batch(world_size, &documents))
    })
}

proptest! {
    #![proptest_config(Config::with_cases(60))]

    #[test]
    fn threads_deliver_what_the_simulator_says(batch in batches()) {
        let outcomes = on_threads(&batch, 2);
        prop_assert_eq!(outcomes.len(), 4);
        prop_assert!(outcomes.iter().all(|outcome| outcome.timings.len() == 2));
    }

    #[test]
    fn a_rank_alone_expects_what_all_ranks_together_expect(batch in batches()) {
        let trial = trial(&batch, 2);
        let alone = thread::scope(|scope| {
            let run = |mut end| trial.run_process(&mut end, |_, timing| timing).map(|outcomes| outcomes.len());
            let ranks = Threads::job(batch.world_size(), PATIENCE).into_iter().map(|end| scope.spawn(move || run(end)));
            let ranks: Vec<_> = ranks.collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect::<Result<Vec<_>, _>>()
        });
        prop_assert_eq!(alone.unwrap(), vec![4; batch.world_size() as usize]);
    }
}

#[test]
fn one_document_over_all_ranks_and_idle_ranks_in_between() {
    for world_size in [1, 2, 8, 64] {
        let spread = (0..world_size).map(|rank| shard(rank, (rank * 5 + 3) % world_size, 3)).collect();
        let narrow = vec![shard(0, world_size - 1, 4), shard(0, 0, 2)];
        let outcomes = on_threads(&batch(world_size, &[spread, narrow]), 1);
        let moved: u64 = outcomes.iter().map(|outcome| outcome.remote_bytes + outcome.kept_bytes).sum();
        assert!(moved > 0, "{world_size} ranks");
    }
}

#[test]
fn bytes_are_counted_as_the_plan_has_them() {
    // Two tokens stay at rank 0, three go from rank 0 to rank 1 together with the context of five.
    let outcomes = on_threads(&batch(2, &[vec![shard(0, 0, 2), shard(0, 1, 3)]]), 1);
    let (query, key_value, output) = (32, 2 * 16, 32);
    let forward = (outcomes[0].messages, outcomes[0].remote_bytes, outcomes[0].kept_bytes);
    assert_eq!(forward, (1, 3 * query + 5 * key_value, 2 * query + 2 * key_value));
    assert_eq!((outcomes[1].messages, outcomes[1].remote_bytes, outcomes[1].kept_bytes), (1, 3 * output, 2 * output));
}

/// Threads that spoil one byte of what rank 1 receives.
struct Spoiling(Threads);

impl Transport for Spoiling {
    fn rank(&self) -> Rank {
        self.0.rank()
    }

    fn world_size(&self) -> u32 {
        self.0.world_size()
    }

    fn all_to_all(&mut self, exchange: &RankExchange, send: &[u8], receive: &mut [u8]) -> Result<(), TransportError> {
        self.0.all_to_all(exchange, send, receive)?;
        if self.rank() == Rank(1) {
            // Behind three queries of 32 bytes and five keys of 16: the fourth value.
            receive[3 * 32 + 5 * 16 + 3 * 16 + 9] ^= 1;
        }
        Ok(())
    }
}

#[test]
fn a_spoilt_byte_is_named() {
    let batch = batch(2, &[vec![shard(0, 0, 2), shard(0, 1, 3)]]);
    let job = Threads::job(2, PATIENCE).into_iter().map(Spoiling).collect();
    let ExecuteError::Different(difference) = trial(&batch, 1).run_threads(job).unwrap_err() else {
        panic!("another error than that of the byte")
    };
    let place = (difference.rank, difference.tensor, difference.row, difference.offset);
    assert_eq!(place, (Rank(1), TensorName::Value, 3, 9));
}

#[test]
fn a_job_of_another_size_is_refused() {
    let batch = batch(2, &[vec![shard(0, 1, 2)]]);
    let refused = trial(&batch, 1).run_threads(Threads::job(3, PATIENCE)).unwrap_err();
    assert!(refused.to_string().starts_with("the plan is for 2 ranks and the backend has 3"), "{refused}");
}
