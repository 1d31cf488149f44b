//! What every plan of the bounded planner keeps to, whatever the documents.

use proptest::prelude::*;
use rankscope_dispatch::cost::{TimeTable, Work};
use rankscope_dispatch::planner::bounded::{Caps, Limits, Options, bounded, explain, loads};
use rankscope_dispatch::planner::{Prices, Remote, cell_limits, lower_bound, place_in_order, place_on_ranks};
use rankscope_dispatch::{Batch, Direction, Error, Exchange, Pass, Rows};
use rankscope_time::Rank;

use crate::received::received;

fn prices() -> Prices {
    Prices::of(&Rows::LLAMA_8B)
}

fn options(eps: f64) -> Options {
    Options { search_steps: Some(20), ..Options::new(eps, prices()) }
}

/// Documents in order or on ranks; short ones, long ones, empty ones.
fn layouts() -> impl Strategy<Value = Batch> {
    let length = || prop_oneof![3 => 0_u32..600, 3 => 500_u32..6000, 1 => 10_000_u32..200_000];
    let in_order = (prop::collection::vec(length(), 0..40), 1_u32..20).prop_map(|(lengths, world_size)| {
        let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        place_in_order(&lengths, world_size, tokens.div_ceil(world_size.into()).max(1)).expect("they fit")
    });
    let on_ranks = prop::collection::vec(prop::collection::vec(length(), 0..8), 1..12)
        .prop_map(|ranks| place_on_ranks(&ranks).expect("ranks"));
    prop_oneof![in_order, on_ranks]
}

/// Per document, where the linear layout is cut, and where each token lies.
fn homes(batch: &Batch) -> Vec<Vec<(u64, u32)>> {
    let document = |shards: &[rankscope_dispatch::Shard]| {
        let mut runs: Vec<(u64, u32)> = Vec::new();
        let mut end = 0;
        for shard in shards.iter().filter(|shard| shard.tokens > 0) {
            end += u64::from(shard.tokens);
            match runs.last_mut() {
                Some(last) if last.1 == shard.linear.0 => last.0 = end,
                _ => runs.push((end, shard.linear.0)),
            }
        }
        runs
    };
    batch.documents().map(document).collect()
}

fn check(layout: &Batch, options: &Options) -> Result<(), TestCaseError> {
    let plan = bounded(layout, options).expect("a plan");
    prop_assert_eq!(homes(&plan), homes(layout), "tokens stay where they lie");
    let limits = Limits::new(layout, &options.work, options.eps, &options.weights).expect("limits");
    let after = loads(&plan, &options.work).expect("loads");
    for (rank, load) in after.iter().enumerate() {
        prop_assert!(*load <= limits.promised[rank], "rank {} has {} of {}", rank, load, limits.promised[rank]);
    }
    for (shards, runs) in plan.documents().zip(homes(layout)) {
        let (mut start, mut end) = (0, 0);
        for shard in shards {
            end += u64::from(shard.tokens);
            let is_run = runs.iter().any(|run| run.0 == end) && (start == 0 || runs.iter().any(|run| run.0 == start));
            prop_assert!(
                is_run || shard.tokens >= limits.smallest_block / 2,
                "a crumb of {} tokens at {}",
                shard.tokens,
                start
            );
            start = end;
            let whole = shard.tokens % limits.smallest_block == 0 || runs.iter().any(|run| run.0 == end);
            prop_assert!(whole, "a shard of {} tokens that ends at {}", shard.tokens, end);
        }
    }
    prop_assert_eq!(&bounded(layout, options).expect("a plan"), &plan, "the same plan again");
    let bytes = Remote::of(&plan).bytes(options.prices);
    let cells = cell_limits(layout, &options.work, &limits.kept_by(&after));
    prop_assert!(plan.cells()?.iter().zip(&cells).all(|(load, limit)| load <= limit), "{:?}", cells);
    let bound = lower_bound(layout, options.prices, &cells).expect("a bound");
    prop_assert!(bound <= bytes, "the bound {} is above {}", bound, bytes);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_rank_is_ever_above_its_limit(layout in layouts(), eps in prop_oneof![Just(0.0), Just(0.05), 0.0..0.5_f64]) {
        check(&layout, &options(eps))?;
    }

    #[test]
    fn weights_are_kept_to(layout in layouts(), eps in 0.0..0.2_f64, slow in 0.1..1.0_f64, failed in any::<prop::sample::Index>()) {
        let world_size = layout.world_size() as usize;
        let mut weights = vec![1.0; world_size];
        weights[0] = slow;
        if world_size > 1 {
            weights[1 + failed.index(world_size - 1)] = 0.0;
        }
        check(&layout, &Options { weights, ..options(eps) })?;
    }

    #[test]
    fn measured_time_is_balanced_too(layout in layouts(), eps in 0.0..0.2_f64) {
        let axis = vec![128, 1024, 8192, 65536];
        let time = |query: &u32| axis.iter().map(|context| 0.001 + f64::from(*query) * f64::from(*context) * 1e-9).collect();
        let rows: Vec<Vec<f64>> = axis.iter().map(time).collect();
        let work = Work::Time(TimeTable::new(axis.clone(), axis.clone(), &rows).expect("a table"));
        check(&layout, &Options { work, ..options(eps) })?;
    }

    #[test]
    fn a_backward_pass_that_sends_everything_again_has_the_plan_of_the_forward_pass(layout in layouts(), eps in 0.0..0.2_f64) {
        let plan = bounded(&layout, &options(eps)).expect("a plan");
        let rows = Rows { lse: 0, ..Rows::LLAMA_8B };
        let bytes = |directions: [Direction; 2]| {
            let crossing = |direction| Exchange::new(&plan, &rows, direction).expect("an exchange").traffic().remote_bytes();
            directions.map(crossing).iter().sum::<u64>()
        };
        prop_assert_eq!(bytes(Pass::Backward.exchanges()), 2 * bytes(Pass::Forward.exchanges()));
        let backward = options(eps).of_pass(Pass::Backward, &rows);
        prop_assert_eq!(bounded(&layout, &backward).expect("a plan"), plan);
    }

    #[test]
    fn more_room_never_needs_more(layout in layouts()) {
        let bound = |eps| {
            let limits = Limits::new(&layout, &Work::Cells, eps, &[]).expect("limits");
            lower_bound(&layout, options(eps).prices, &limits.promised).expect("a bound")
        };
        prop_assert!(bound(0.3) <= bound(0.1) && bound(0.1) <= bound(0.0));
    }
}

#[test]
fn one_huge_document_is_spread_over_many_ranks() {
    let mut ranks = vec![Vec::new(); 1024];
    ranks[7].push(4_000_000);
    check(&place_on_ranks(&ranks).expect("ranks"), &Options { search_steps: Some(0), ..options(0.0) })
        .expect("a plan within its limits");
}

#[test]
fn caps_are_kept_to_or_the_rank_is_named() {
    // Without caps the long document of rank 0 goes to the emptiest ranks in large parts.
    let layout = place_on_ranks(&[vec![60_000], vec![20_000], vec![20_000], vec![2_000; 4], vec![], vec![]]).expect("ranks");
    let free = bounded(&layout, &options(0.1)).expect("a plan");
    let most = received(&free, prices()).into_iter().max().expect("ranks");
    let capped =
        |receive_bytes| Options { caps: Caps { receive_bytes: Some(receive_bytes), ..Caps::default() }, ..options(0.1) };
    let mut fewer = 0;
    for hundredths in 50..=100 {
        let cap = most * hundredths / 100;
        match bounded(&layout, &capped(cap)) {
            Ok(plan) => {
                assert!(received(&plan, prices()).into_iter().all(|bytes| bytes <= cap));
                fewer += 1;
            }
            Err(error) => assert!(matches!(error, Error::Cap { .. } | Error::NobodyMayTake { .. }), "{error}"),
        }
    }
    assert!(fewer > 0, "some cap below what is free of caps can be kept to");
    assert!(matches!(bounded(&layout, &capped(1000)), Err(Error::NobodyMayTake { rank: Rank(0) })));
    let full = Options { caps: Caps { buffer_bytes: Some(1_000_000), ..Caps::default() }, ..options(0.1) };
    let refused = bounded(&layout, &full).expect_err("a rank holds more than that already");
    assert!(matches!(refused, Error::Cap { .. } | Error::NobodyMayTake { .. }), "{refused}");
}

/// A search for fewer bytes has ranks compute again what they gave away, and must not end there.
#[test]
fn fewer_bytes_are_no_reason_to_go_above_a_cap() {
    let layout = place_on_ranks(&[vec![], vec![33]]).expect("ranks");
    let rows = Rows { hidden_kv: 4096, ..Rows::LLAMA_8B };
    let caps = Caps { buffer_bytes: Some(664_192), ..Caps::default() };
    let plan = bounded(&layout, &Options { caps, ..Options::new(0.1, Prices::of(&rows)) }).expect("a plan");
    let mut end = 0;
    let mut held = [(0, 0); 2];
    for shard in plan.document(0) {
        end += u64::from(shard.tokens);
        let (queries, context) = &mut held[shard.attention.0 as usize];
        (*queries, *context) = (*queries + u64::from(shard.tokens), end);
    }
    let bytes = held.map(|(queries, context)| queries * 8192 + context * 16_384);
    assert!(bytes.iter().all(|bytes| *bytes <= 664_192), "{bytes:?}");
}

#[test]
fn an_explanation_says_what_undoing_would_save() {
    let layout = place_on_ranks(&[vec![60_000], vec![20_000], vec![9_000], vec![]]).expect("ranks");
    let options = options(0.1);
    let plan = bounded(&layout, &options).expect("a plan");
    let why = explain(&layout, &plan, &options).expect("explanations");
    assert!(!why.is_empty());
    let bytes = Remote::of(&plan).bytes(options.prices);
    for run in &why {
        let mut undone = Batch::new(4).expect("ranks");
        for (document, shards) in plan.documents().enumerate() {
            let mut start = 0;
            let mut shards = shards.to_vec();
            for shard in &mut shards {
                if document == run.document && start == run.start {
                    shard.attention = shard.linear;
                }
                start += shard.tokens;
            }
            undone.push(&shards).expect("shards");
        }
        assert_eq!(bytes as i64 - Remote::of(&undone).bytes(options.prices) as i64, run.cost_bytes);
        assert_eq!(undone.cells().expect("cells")[run.from.0 as usize], run.load_without);
    }
}

#[test]
fn equal_documents_stay_where_they_lie() {
    let layout = place_in_order(&[4096; 64], 16, 16384).expect("they fit");
    assert_eq!(bounded(&layout, &options(0.0)), Ok(layout));
}

#[test]
fn what_means_nothing_is_refused() {
    let layout = place_in_order(&[4096; 4], 2, 8192).expect("they fit");
    let refused = |change: fn(&mut Options)| {
        let mut options = options(0.05);
        change(&mut options);
        bounded(&layout, &options).expect_err("refused")
    };
    assert_eq!(refused(|options| options.eps = -0.1), Error::Eps { eps: -0.1 });
    assert!(matches!(refused(|options| options.weights = vec![1.0]), Error::Weights { .. }));
    assert!(matches!(refused(|options| options.weights = vec![0.0, 0.0]), Error::Weights { .. }));
    assert!(matches!(refused(|options| options.weights = vec![1.0, f64::NAN]), Error::Weights { .. }));
}
