//! Heads in groups: the same attention, within the same limits, for no more bytes than without.

use proptest::prelude::*;
use rankscope_dispatch::planner::bounded::{Limits, Options, bounded};
use rankscope_dispatch::planner::{Prices, Remote, by_heads, place_in_order, place_zigzag};
use rankscope_dispatch::{Assignment, Batch, Direction, HeadGroups, Rows};

const ROWS: Rows = Rows { hidden_q: 512, hidden_kv: 128, lse: 0, element_bytes: 2 };

fn options(rows: &Rows) -> Options {
    Options { search_steps: Some(10), ..Options::new(0.05, Prices::of(rows)) }
}

fn layouts() -> impl Strategy<Value = Batch> {
    let lengths = prop::collection::vec(prop_oneof![0_u32..400, 400_u32..2500], 1..5);
    (lengths, 1_u32..12).prop_map(|(lengths, world_size)| {
        let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        place_in_order(&lengths, world_size, tokens.div_ceil(world_size.into()).max(1)).expect("they fit")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn groups_are_planned_within_the_limits_and_counted_as_sent(layout in layouts(), groups in prop::sample::select(&[1_u32, 2, 4, 8][..])) {
        let groups = HeadGroups::new(groups).unwrap();
        let rows = groups.rows(&ROWS).unwrap();
        let options = options(&rows);
        let split = by_heads(&layout, groups, &options, |all| bounded(all, &options)).unwrap();
        let limits = Limits::new(&split.layout, &options.work, options.eps, &options.weights).unwrap();
        let cells = split.plan.cells().unwrap();
        prop_assert_eq!(cells.iter().sum::<u64>(), layout.cells_at_home().unwrap().iter().sum::<u64>() * u64::from(groups.get()));
        prop_assert!(cells.iter().zip(&limits.promised).all(|(load, limit)| load <= limit));

        // The same documents in every group, and bytes that are those of the exchanges.
        let assignment = Assignment::from(&split.plan).of_heads(groups).unwrap();
        prop_assert_eq!(assignment.linear_tokens(), layout.linear_tokens());
        let sent = |direction| assignment.exchange(&rows, direction).unwrap().traffic().remote_bytes();
        let bytes = Remote::of(&split.plan).bytes(options.prices);
        prop_assert_eq!(sent(Direction::Forward) + sent(Direction::Output), bytes);
        prop_assert!(bytes <= Remote::of(&bounded(&split.layout, &options).unwrap()).bytes(options.prices));
    }
}

#[test]
fn a_document_on_many_ranks_costs_much_less_by_heads() {
    let layout = place_zigzag(&[vec![64 * 1024]], 64).expect("it fits");
    let all = options(&Rows::LLAMA_8B);
    let whole = Remote::of(&bounded(&layout, &all).expect("a plan")).bytes(all.prices);
    let groups = HeadGroups::new(8).expect("eight groups");
    let options = options(&groups.rows(&Rows::LLAMA_8B).expect("eight key heads"));
    let split = by_heads(&layout, groups, &options, |all| bounded(all, &options)).expect("a plan");
    let bytes = Remote::of(&split.plan).bytes(options.prices);
    assert!(bytes * 2 < whole, "{bytes} of {whole}");
}
