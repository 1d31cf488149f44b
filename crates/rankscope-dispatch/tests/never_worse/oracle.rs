//! Beside all plans there are, where they can be gone through.

use std::cell::RefCell;

use proptest::collection::vec;
use proptest::prelude::*;
use rankscope_dispatch::cost::Work;
use rankscope_dispatch::planner::bounded::{Limits, Options, bounded};
use rankscope_dispatch::planner::{BLOCK_TOKENS, Prices, Remote, exact, exact_raising, place_on_ranks};
use rankscope_dispatch::{Batch, Rows};

use crate::batches::runner;

pub(crate) fn prices() -> Prices {
    Prices::of(&Rows::LLAMA_8B)
}

/// Up to eight blocks or so.
fn tiny() -> impl Strategy<Value = Vec<Vec<u32>>> {
    let length = prop_oneof![Just(128_u32), Just(256), Just(384), 1_u32..200, 128_u32..500];
    vec(vec(length, 0..3), 2..4)
}

fn blocks(lists: &[Vec<u32>]) -> u32 {
    lists.iter().flatten().map(|length| length.div_ceil(BLOCK_TOKENS)).sum()
}

fn heaviest(plan: &Batch) -> u64 {
    plan.cells().expect("cells").into_iter().max().unwrap_or(0)
}

#[test]
fn beside_all_plans_ours_is_close() {
    let few_blocks = tiny().prop_filter("few blocks", |lists| blocks(lists) <= 8);
    let cases = (few_blocks, prop_oneof![Just(0.0), Just(0.05), 0.0..0.4_f64]);
    let sums = RefCell::new(Sums::default());
    let check = |(lists, eps): (Vec<Vec<u32>>, f64)| {
        let layout = place_on_ranks(&lists).expect("ranks");
        let options = Options::new(eps, prices());
        let limits = Limits::new(&layout, &Work::Cells, eps, &[]).expect("limits");
        let plan = bounded(&layout, &options).expect("a plan");
        let lightest = exact_raising(&layout, options.prices, &limits, MOST_STEPS).expect("a plan of whole blocks");
        prop_assert!(heaviest(&lightest) <= heaviest(&layout));
        // Limits are raised in steps of a thousandth of the mean.
        let goal = heaviest(&lightest).max(limits.target[0]) as f64;
        prop_assert!(heaviest(&plan) as f64 <= goal * 1.002, "{} where {} can be had", heaviest(&plan), goal);

        let kept = limits.kept_by(&plan.cells().expect("cells"));
        let Ok(best) = exact(&layout, options.prices, &kept, MOST_STEPS) else { return Ok(()) };
        let (ours, fewest) = [&plan, &best].map(|plan| Remote::of(plan).bytes(options.prices)).into();
        prop_assert!(ours <= 2 * fewest, "{} bytes where {} are enough", ours, fewest);
        if in_whole_blocks(&plan) {
            prop_assert!(fewest <= ours, "the exact planner left out a plan");
        }
        sums.borrow_mut().add(ours, fewest);
        Ok(())
    };
    runner(2_000).run(&cases, check).unwrap();
    let sums = sums.into_inner();
    assert!(sums.plans > 300 && sums.far * 10 < sums.plans && sums.ours * 100 < sums.fewest * 105, "{sums:?}");
}

/// Over all plans for which something has to move.
#[derive(Debug, Default)]
struct Sums {
    plans: u32,
    /// With more than 10 % more bytes than needed.
    far: u32,
    ours: u64,
    fewest: u64,
}

impl Sums {
    fn add(&mut self, ours: u64, fewest: u64) {
        self.plans += u32::from(fewest > 0);
        self.far += u32::from(ours * 10 > fewest * 11);
        self.ours += ours;
        self.fewest += fewest;
    }
}

fn in_whole_blocks(plan: &Batch) -> bool {
    plan.documents().all(|document| match document {
        [cut @ .., _] => cut.iter().all(|shard| shard.tokens % BLOCK_TOKENS == 0),
        [] => true,
    })
}

/// Of the exact planner, for each of its plans.
const MOST_STEPS: u64 = 1_000_000;
