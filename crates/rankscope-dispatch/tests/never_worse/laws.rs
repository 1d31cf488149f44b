//! What holds of every plan of every planner.

use proptest::prelude::*;
use rankscope_dispatch::cost::Work;
use rankscope_dispatch::plan::{LogicalPlan, TaskOrder};
use rankscope_dispatch::planner::bounded::{Caps, Limits, Options, bounded, loads, slowest};
use rankscope_dispatch::planner::{Remote, equal_flops, greedy, lower_bound, not_worse};
use rankscope_dispatch::properties::check;
use rankscope_dispatch::{Batch, Error};

use crate::batches::{at_home, cases, layouts, relaid, runner, settled};
use crate::received::received;

fn bytes(plan: &Batch, options: &Options) -> u64 {
    Remote::of(plan).bytes(options.prices)
}

fn time(plan: &Batch, options: &Options) -> f64 {
    slowest(&loads(plan, &options.work).expect("loads"), &options.weights)
}

/// Everything that is promised of a plan of the bounded planner.
fn judge(layout: &Batch, options: &Options) -> Result<Batch, TestCaseError> {
    let plan = bounded(layout, options).expect("a plan");
    let limits = Limits::new(layout, &options.work, options.eps, &options.weights).expect("limits");
    let (before, after) = (at_home(layout), loads(&plan, &options.work).expect("loads"));
    prop_assert!(time(&plan, options) <= time(&before, options), "{} was {}", time(&plan, options), time(&before, options));
    prop_assert!(after.iter().zip(&limits.promised).all(|(load, limit)| load <= limit), "{:?} of {:?}", after, limits);
    prop_assert_eq!(plan.linear_tokens(), layout.linear_tokens(), "tokens stay where they lie");
    for order in [TaskOrder::Documents, TaskOrder::Slots] {
        prop_assert_eq!(check(&plan, order, &LogicalPlan::new(&plan, order).expect("offsets")), []);
    }

    let (total, workers) = (after.iter().sum::<u64>() as f64, options.weights.iter().filter(|weight| **weight > 0.0).count());
    let workers = if options.weights.is_empty() { after.len() } else { workers } as f64;
    let longest = layout.documents().map(|document| document.iter().map(|shard| shard.tokens).sum()).max().unwrap_or(0);
    if options.eps >= 0.01 && f64::from(longest) * workers <= options.eps * total {
        let within = after.iter().zip(&limits.target).all(|(load, limit)| load <= limit);
        prop_assert!(within, "a token is less than eps of a share, and {:?} is above {:?}", after, limits.target);
    }
    let even = loads(&before, &options.work).expect("loads").iter().zip(&limits.target).all(|(a, b)| a <= b);
    let (moved, before) = (bytes(&plan, options), bytes(&before, options));
    prop_assert!(!even || moved <= before, "the layout was balanced, and {} bytes move where {} would", moved, before);
    prop_assert!(!even || before > 0 || moved == 0, "nothing had to move");
    let least = lower_bound(layout, options.prices, &limits.kept_by(&after)).expect("a bound");
    prop_assert!(least <= moved, "{} <= {}", least, moved);
    Ok(plan)
}

#[test]
fn ten_thousand_plans_are_no_worse_than_none_and_keep_their_promise() {
    let check = |(layout, options): (Batch, Options)| judge(&layout, &options).map(drop);
    runner(10_000).run(&cases(), check).unwrap();
}

#[test]
fn what_a_plan_has_balanced_is_left_alone() {
    let check = |(layout, options): (Batch, Options)| {
        let settled = settled(&bounded(&layout, &options).expect("a plan"));
        judge(&settled, &options).map(drop)
    };
    runner(1_000).run(&cases(), check).unwrap();
}

#[test]
fn names_of_ranks_do_not_matter() {
    let check = |(layout, options): (Batch, Options)| {
        let last = layout.world_size() - 1;
        let mirrored = |rank: rankscope_time::Rank| rankscope_time::Rank(last - rank.0);
        let other = relaid(&layout, |shard| rankscope_dispatch::Shard {
            linear: mirrored(shard.linear),
            attention: mirrored(shard.attention),
            ..shard
        });
        let mut weights = options.weights.clone();
        weights.reverse();
        judge(&other, &Options { weights, ..options.clone() })?;
        Ok(())
    };
    runner(1_000).run(&cases(), check).unwrap();
}

#[test]
fn the_planners_of_others_are_held_to_it_as_well() {
    let check = |(layout, options): (Batch, Options)| {
        let Ok(plan) = greedy(&layout, options.eps) else { return Ok(()) };
        let kept = not_worse(&layout, plan, &Work::Cells, &options.weights).expect("loads");
        prop_assert!(time(&kept, &options) <= time(&at_home(&layout), &options));
        Ok(())
    };
    runner(10_000).run(&cases(), check).unwrap();
    let lists = proptest::collection::vec(proptest::collection::vec(0_u32..4000, 0..5), 1..10);
    let check = |lists: Vec<Vec<u32>>| {
        let layout = rankscope_dispatch::planner::place_on_ranks(&lists).expect("ranks");
        let plan = not_worse(&layout, equal_flops(&lists).expect("a plan"), &Work::Cells, &[]).expect("loads");
        prop_assert!(slowest(&plan.cells().expect("cells"), &[]) <= slowest(&layout.cells().expect("cells"), &[]));
        Ok(())
    };
    runner(10_000).run(&lists, check).unwrap();
}

#[test]
fn with_caps_a_plan_is_no_worse_either() {
    let cases = (layouts(), 0.0..0.2_f64, 0.3..1.5_f64);
    let check = |(layout, eps, part): (Batch, f64, f64)| {
        let free = Options { search_steps: Some(4), ..Options::new(eps, crate::oracle::prices()) };
        let moved = bytes(&bounded(&layout, &free).expect("a plan"), &free) as f64 / f64::from(layout.world_size());
        let options = Options { caps: Caps { receive_bytes: Some((2.0 * part * moved) as u64), ..Caps::default() }, ..free };
        match bounded(&layout, &options) {
            Ok(plan) => {
                let at_home = at_home(&layout);
                let kept = |batch: &Batch| received(batch, options.prices).into_iter().max() <= options.caps.receive_bytes;
                prop_assert!(kept(&plan), "the cap is kept to");
                prop_assert!(!kept(&at_home) || time(&plan, &options) <= time(&at_home, &options));
            }
            Err(error) => prop_assert!(matches!(error, Error::Cap { .. } | Error::NobodyMayTake { .. }), "{}", error),
        }
        Ok(())
    };
    runner(1_000).run(&cases, check).unwrap();
}
