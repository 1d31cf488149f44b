//! What the passes of a played step move is what their plan says, pair of ranks by pair of ranks.

#![expect(clippy::unwrap_used, reason = "a broken assumption of a test is a failure of it")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use rankscope_dispatch::events::{LayerWork, Machine, Passes, Scene, Step, StepShape, Transfer, Wire};
use rankscope_dispatch::network::Preset;
use rankscope_dispatch::planner::{Prices, Remote};
use rankscope_dispatch::{Assignment, Batch, Direction, Pass, Rows, Shard, SplitBatch, Traffic};
use rankscope_time::Rank;

/// Rows of which every part fills whole 16 bytes: an element of each has four.
const ROWS: Rows = Rows { hidden_q: 8, hidden_kv: 4, lse: 4, element_bytes: 4 };
const QUERY_BYTES: u64 = 32;
/// Keys and values.
const KEYS_BYTES: u64 = 32;
const LSE_BYTES: u64 = 16;

const ALL: [Passes; 4] = [Passes::Both, Passes::Resent, Passes::Forward, Passes::Backward];

fn step(plan: &Assignment<'_>, passes: Passes) -> Step {
    let mut shape = StepShape::default();
    shape.passes = passes;
    Step::of_plans(&[(plan.clone(), &ROWS)], &shape, &Machine::H100).unwrap()
}

/// Bytes out for each query and each key, and back, that a rank computes something of: both passes of a layer that has them.
fn rows_of(passes: Passes, merges: bool) -> [Option<[[u64; 2]; 2]>; 2] {
    let forward = [[QUERY_BYTES, KEYS_BYTES], [QUERY_BYTES + LSE_BYTES, 0]];
    let gradients = [QUERY_BYTES, KEYS_BYTES];
    // What a part of an output does not know of the whole: the log-sum-exp, and the sum of output times gradient.
    let kept = [[QUERY_BYTES + if merges { 2 * LSE_BYTES } else { 0 }, 0], gradients];
    let resent = [[3 * QUERY_BYTES + LSE_BYTES, KEYS_BYTES], gradients];
    match passes {
        Passes::Both => [Some(forward), Some(kept)],
        Passes::Resent => [Some(forward), Some(resent)],
        Passes::Forward => [Some(forward), None],
        Passes::Backward => [None, Some(resent)],
    }
}

/// A token of a document to a rank that has a task for it, once for its query and once for its key.
fn traffic(batch: &SplitBatch, [query_bytes, key_bytes]: [u64; 2]) -> Traffic {
    let home = |shards: &[Shard]| -> Vec<Rank> {
        shards.iter().flat_map(|shard| std::iter::repeat_n(shard.linear, shard.tokens as usize)).collect()
    };
    let homes: Vec<Vec<Rank>> = batch.documents().map(|(shards, _)| home(shards)).collect();
    let mut sent = BTreeSet::new();
    for task in batch.tasks() {
        sent.extend(task.queries.clone().map(|token| (task.document, token, task.rank, query_bytes, true)));
        sent.extend(task.keys.clone().map(|token| (task.document, token, task.rank, key_bytes, false)));
    }
    let send = |(document, token, to, bytes, _): (usize, u32, Rank, u64, bool)| (homes[document][token as usize], to, bytes);
    Traffic::new(batch.world_size(), sent.into_iter().map(send))
}

fn moved(work: &LayerWork) -> [&Traffic; 2] {
    [&work.there, &work.back].map(|transfer: &Transfer| &transfer.traffic)
}

fn as_counted(plan: &Assignment<'_>, tasks: &SplitBatch) -> Result<(), TestCaseError> {
    for passes in ALL {
        let step = step(plan, passes);
        let microbatch = &step.microbatches[0];
        for (work, rows) in [&microbatch.forward, &microbatch.backward].into_iter().zip(rows_of(passes, plan.merges())) {
            let expected = rows.map(|[there, back]| [traffic(tasks, there), traffic(tasks, back).reversed()]);
            prop_assert_eq!(work.as_ref().map(moved), expected.as_ref().map(|both| both.each_ref()), "{:?}", passes);
        }
        let mut shape = StepShape::default();
        (shape.passes, shape.layers, shape.microbatches, shape.overlap) = (passes, 3, Some(2), true);
        let network = Preset::of_name("free").unwrap().network();
        let scene = Scene::play(&[(plan.clone(), &ROWS)], &shape, &Machine::H100, &network, Wire::Model).unwrap();
        let once: Vec<u64> = microbatch.passes().flat_map(moved).map(Traffic::remote_bytes).collect();
        let exchanges = scene.exchanges();
        // Three layers, two microbatches of two nano-batches each.
        prop_assert_eq!(
            exchanges.iter().map(|one| one.1).collect::<Vec<_>>(),
            once.iter().map(|bytes| bytes * 12).collect::<Vec<_>>()
        );
        let names: Vec<Direction> = exchanges.into_iter().map(|one| one.0).collect();
        let expected = passes.forward().into_iter().chain(passes.backward()).flatten().collect::<Vec<_>>();
        prop_assert_eq!(names, expected);
    }
    Ok(())
}

/// Without tasks of no queries, which have their keys sent as any other and are not counted.
fn batches() -> impl Strategy<Value = Batch> {
    crate::batches::batch().prop_map(|batch| {
        let mut kept = Batch::new(batch.world_size()).unwrap();
        for document in batch.documents() {
            kept.push(&document.iter().copied().filter(|shard| shard.tokens > 0).collect::<Vec<_>>()).unwrap();
        }
        kept
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn whole_contexts_move_as_counted(batch in batches()) {
        as_counted(&(&batch).into(), &SplitBatch::of_whole(&batch))?;
    }

    #[test]
    fn split_keys_move_as_counted(batch in crate::batches::split_batch()) {
        as_counted(&(&batch).into(), &batch)?;
    }

    #[test]
    fn a_pass_by_itself_moves_what_its_planner_counts(batch in batches()) {
        // No log-sum-exp goes beside an output that is whole.
        let rows = Rows { lse: 0, ..ROWS };
        for (pass, passes) in [(Pass::Forward, Passes::Forward), (Pass::Backward, Passes::Backward)] {
            let mut shape = StepShape::default();
            shape.passes = passes;
            let step = Step::of_plans(&[((&batch).into(), &rows)], &shape, &Machine::H100).unwrap();
            let moved: u64 = step.microbatches[0].passes().flat_map(moved).map(Traffic::remote_bytes).sum();
            prop_assert_eq!(moved, Remote::of(&batch).bytes(Prices::of_pass(&rows, pass)));
        }
    }
}
