//! What must hold of any step that is played.

#![expect(clippy::unwrap_used, reason = "a broken assumption of a test is a failure of it")]

use proptest::prelude::*;
use rankscope_dispatch::Traffic;
use rankscope_dispatch::events::{LayerWork, Machine, Microbatch, Outcome, Step, Transfer, What, Wire, play};
use rankscope_dispatch::network::{Network, Preset};
use rankscope_time::{Rank, Span};

const RANKS: usize = 5;

fn times() -> impl Strategy<Value = Vec<Span>> {
    prop::collection::vec((0..2_000_000_i64).prop_map(Span::from_nanos), RANKS)
}

fn transfer() -> impl Strategy<Value = Transfer> {
    let rank = 0..RANKS as u32;
    prop::collection::vec((rank.clone(), rank, 0..40_000_000_u64), 0..20).prop_map(|sends| {
        let traffic = Traffic::new(RANKS as u32, sends.iter().map(|&(from, to, bytes)| (Rank(from), Rank(to), bytes)));
        let sum = |of: fn(&(Rank, Rank, u64)) -> Rank| {
            let bytes =
                |rank: usize| traffic.pairs().iter().filter(|pair| of(pair).0 as usize == rank).map(|pair| pair.2).sum();
            (0..RANKS).map(bytes).collect::<Vec<u64>>()
        };
        let (send, receive) = (sum(|pair| pair.0), sum(|pair| pair.1));
        Transfer {
            pack_bytes: send.clone(),
            unpack_bytes: receive.clone(),
            send_buffer_bytes: send,
            receive_buffer_bytes: receive,
            traffic,
        }
    })
}

fn layer() -> impl Strategy<Value = LayerWork> {
    (times(), transfer(), times(), transfer(), times()).prop_map(|(before, there, attention, back, after)| LayerWork {
        before,
        there,
        attention,
        back,
        after,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let microbatch = |[forward, backward]: [bool; 2]| {
        (layer(), layer())
            .prop_map(move |(there, back)| Microbatch { forward: forward.then_some(there), backward: backward.then_some(back) })
    };
    let passes = prop::sample::select(vec![[true, true], [true, false], [false, true]]);
    let microbatches = passes.prop_flat_map(move |passes| prop::collection::vec(microbatch(passes), 1..4));
    (microbatches, 1..4_u32, 1..4_u32, 1..3_u32, any::<bool>()).prop_map(
        |(microbatches, layers, stages, nano_batches, overlap)| Step {
            microbatches,
            layers,
            stages,
            activation_bytes: vec![1_000_000; RANKS],
            nano_batches,
            overlap,
        },
    )
}

fn network(name: &str) -> Network {
    Preset::of_name(name).unwrap().network()
}

fn on(step: &Step, name: &str, wire: Wire) -> Outcome {
    play(step, &Machine::H100, &network(name), wire).unwrap()
}

fn sum(spans: impl IntoIterator<Item = Span>) -> Span {
    spans.into_iter().fold(Span::ZERO, |sum, span| sum + span)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn time_of_every_rank_adds_up_and_work_is_conserved(step in step(), flows in any::<bool>()) {
        let wire = if flows { Wire::Flows } else { Wire::Model };
        let outcome = on(&step, "a100-ib200", wire);
        prop_assert_eq!(outcome.ranks.len(), RANKS * step.stages as usize);
        let passes: Vec<_> = step.microbatches.iter().flat_map(Microbatch::passes).collect();
        for (at, rank) in outcome.ranks.iter().enumerate() {
            prop_assert_eq!(rank.computation + rank.copies + rank.exposed + rank.idle, outcome.makespan);
            prop_assert!(rank.idle >= Span::ZERO && rank.exposed <= rank.exchanges && rank.waiting <= rank.exchanges);
            let at = at % RANKS;
            let once = sum(passes.iter().flat_map(|work| [work.before[at], work.attention[at], work.after[at]]));
            let times = i64::from(step.layers * step.nano_batches);
            prop_assert_eq!(rank.computation.as_nanos(), once.as_nanos() * times);
        }
    }

    #[test]
    fn nothing_starts_before_what_it_needs(step in step(), flows in any::<bool>()) {
        let wire = if flows { Wire::Flows } else { Wire::Model };
        let outcome = on(&step, "a100-ib200", wire);
        let mut last = std::collections::BTreeMap::new();
        for one in &outcome.played {
            let label = one.label;
            for rank in 0..RANKS {
                prop_assert!(one.end[rank] >= one.start[rank] && one.start[rank] >= Span::ZERO);
                let key = (label.stage, label.microbatch, label.nano_batch, label.backward, rank);
                let before = last.insert(key, one.end[rank]).unwrap_or(Span::ZERO);
                prop_assert!(one.start[rank] >= before, "{label}");
            }
        }
    }

    #[test]
    fn no_step_beats_its_lower_bounds(step in step()) {
        let outcome = on(&step, "a100-ib200", Wire::Model);
        for rank in &outcome.ranks {
            prop_assert!(outcome.makespan >= rank.computation + rank.copies);
            prop_assert!(outcome.makespan >= rank.exchanges);
        }
        // One nano-batch through one microbatch is a chain.
        let first = step.microbatches[0].passes().next().unwrap();
        let model = network("a100-ib200");
        let chain = |rank: usize| {
            let stay = |transfer: &Transfer| model.predict(&transfer.traffic).unwrap().ranks[rank].stay;
            let once = first.before[rank] + stay(&first.there) + first.attention[rank] + stay(&first.back) + first.after[rank];
            sum((0..step.layers).map(|_| once))
        };
        prop_assert!((0..RANKS).all(|rank| outcome.makespan >= chain(rank)));
    }

    #[test]
    fn a_faster_network_never_takes_longer(step in step(), factor in 1..20_u64) {
        let slow = network("ethernet-100");
        let mut fast = slow.clone();
        for level in [&mut fast.node, &mut fast.rail, &mut fast.spine] {
            level.bytes_per_second *= factor;
            level.alpha = Span::from_nanos(level.alpha.as_nanos() / factor as i64);
        }
        let makespan = |network: &Network| play(&step, &Machine::H100, network, Wire::Model).unwrap().makespan;
        prop_assert!(makespan(&fast) <= makespan(&slow));
    }

    #[test]
    fn overlap_is_never_slower_than_none(step in step()) {
        let makespan = |overlap: bool| on(&Step { overlap, ..step.clone() }, "ethernet-100", Wire::Model).makespan;
        prop_assert!(makespan(true) <= makespan(false));
    }

    #[test]
    fn the_same_step_is_played_the_same(step in step(), flows in any::<bool>()) {
        let wire = if flows { Wire::Flows } else { Wire::Model };
        prop_assert_eq!(on(&step, "h100-ib400", wire), on(&step, "h100-ib400", wire));
    }

    #[test]
    fn buffers_hold_at_least_one_exchange_and_at_most_all(step in step()) {
        let outcome = on(&step, "h100-ib400", Wire::Model);
        let passes = step.microbatches.iter().flat_map(Microbatch::passes);
        let transfers: Vec<&Transfer> = passes.flat_map(|work| [&work.there, &work.back]).collect();
        for (at, rank) in outcome.ranks.iter().enumerate() {
            let both = |one: &&Transfer| one.send_buffer_bytes[at % RANKS] + one.receive_buffer_bytes[at % RANKS];
            prop_assert!(rank.buffer_bytes >= transfers.iter().map(both).max().unwrap());
            prop_assert!(rank.buffer_bytes <= u64::from(step.nano_batches) * transfers.iter().map(both).sum::<u64>());
        }
    }

    #[test]
    fn one_exchange_of_flows_takes_at_least_what_its_fullest_link_needs(transfer in transfer()) {
        let mut model = network("a100-ib200");
        for level in [&mut model.node, &mut model.rail, &mut model.spine] {
            level.alpha = Span::ZERO;
        }
        let bound = model.predict(&transfer.traffic).unwrap().total;
        let step = single(transfer);
        let flows = play(&step, &Machine::H100, &model, Wire::Flows).unwrap().makespan;
        prop_assert!(flows >= bound - Span::from_nanos(2), "{:?} before {:?}", flows, bound);
        let mut faster = model.clone();
        for level in [&mut faster.node, &mut faster.rail, &mut faster.spine] {
            level.bytes_per_second *= 2;
        }
        let twice = play(&step, &Machine::H100, &faster, Wire::Flows).unwrap().makespan;
        prop_assert!((twice.as_nanos() * 2 - flows.as_nanos()).abs() <= 4, "{:?} is not half of {:?}", twice, flows);
    }
}

/// A step of one exchange and nothing else.
fn single(there: Transfer) -> Step {
    let none = vec![Span::ZERO; RANKS];
    let there = Transfer { pack_bytes: vec![0; RANKS], unpack_bytes: vec![0; RANKS], ..there };
    let back = Transfer::nothing(RANKS as u32);
    let forward = LayerWork { before: none.clone(), there, attention: none.clone(), back, after: none };
    Step {
        microbatches: vec![Microbatch { forward: Some(forward), backward: None }],
        layers: 1,
        stages: 1,
        activation_bytes: vec![0; RANKS],
        nano_batches: 1,
        overlap: false,
    }
}

/// Everybody talks to everybody.
fn dense(bytes: u64) -> Transfer {
    let pairs = (0..RANKS as u32).flat_map(|from| (0..RANKS as u32).map(move |to| (Rank(from), Rank(to), bytes)));
    Transfer { traffic: Traffic::new(RANKS as u32, pairs), ..Transfer::nothing(RANKS as u32) }
}

fn ms(millis: &[i64]) -> Vec<Span> {
    millis.iter().map(|millis| Span::from_nanos(millis * 1_000_000)).collect()
}

#[test]
fn on_a_free_network_a_step_takes_what_the_busiest_rank_takes() {
    let forward = LayerWork {
        before: ms(&[1; RANKS]),
        there: dense(8),
        attention: ms(&[3, 9, 2, 4, 2]),
        back: dense(8),
        after: ms(&[2; RANKS]),
    };
    let step =
        Step { microbatches: vec![Microbatch { forward: Some(forward), backward: None }], layers: 3, ..single(dense(8)) };
    let outcome = on(&step, "free", Wire::Model);
    // A message takes at least a nanosecond.
    assert_eq!((outcome.makespan.as_nanos() - 3 * 12_000_000) / 100, 0);
    assert!((outcome.idle_share() - (1.0 - (4.0 + 3.0) / 12.0)).abs() < 1e-4, "{}", outcome.idle_share());
}

#[test]
fn a_nano_batch_hides_its_exchange_behind_the_other() {
    let forward = LayerWork {
        before: ms(&[4; RANKS]),
        there: dense(50_000_000),
        attention: ms(&[4; RANKS]),
        back: dense(50_000_000),
        after: ms(&[4; RANKS]),
    };
    let step = Step {
        microbatches: vec![Microbatch { forward: Some(forward), backward: None }],
        layers: 8,
        nano_batches: 2,
        overlap: true,
        ..single(dense(1))
    };
    let hidden = on(&step, "h100-nvlink", Wire::Model);
    let shown = on(&Step { overlap: false, ..step.clone() }, "h100-nvlink", Wire::Model);
    let exchange = network("h100-nvlink").predict(&dense(50_000_000).traffic).unwrap().total;
    assert_eq!(shown.makespan.as_nanos(), 2 * 8 * (12_000_000 + 2 * exchange.as_nanos()));
    // The first exchange of the first layer overlaps with what is before it of the other; the last one has nothing beside it.
    assert!(hidden.makespan.as_nanos() <= 2 * 8 * 12_000_000 + exchange.as_nanos(), "{:?}", hidden.makespan);
    assert_eq!(hidden.ranks[0].exchanges, shown.ranks[0].exchanges);
}

/// A pass of a millisecond before attention, one of it and one after it, for which nothing is sent.
fn three_ms() -> LayerWork {
    LayerWork {
        before: ms(&[1; RANKS]),
        there: Transfer::nothing(RANKS as u32),
        attention: ms(&[1; RANKS]),
        back: Transfer::nothing(RANKS as u32),
        after: ms(&[1; RANKS]),
    }
}

#[test]
fn a_pipeline_fills_and_drains() {
    let (stages, many) = (4, 6);
    let microbatch = Microbatch { forward: Some(three_ms()), backward: Some(three_ms()) };
    let step = Step { microbatches: vec![microbatch; many], stages, ..single(Transfer::nothing(RANKS as u32)) };
    let outcome = on(&step, "free", Wire::Model);
    // One forward, one backward of equal length: (microbatches + stages - 1) times both.
    assert_eq!(outcome.makespan.as_nanos(), (many as i64 + i64::from(stages) - 1) * 6_000_000);
    let bubble = f64::from(stages - 1) / (many as f64 + f64::from(stages) - 1.0);
    assert!((outcome.idle_share() - bubble).abs() < 1e-9, "{} and {bubble}", outcome.idle_share());
    assert!(outcome.played.iter().any(|one| one.label.backward && one.label.what == What::Attention));
}

#[test]
fn backward_passes_by_themselves_go_through_a_pipeline_from_its_end() {
    let (stages, many) = (4, 6);
    let microbatch = Microbatch { forward: None, backward: Some(three_ms()) };
    let step = Step { microbatches: vec![microbatch; many], stages, ..single(Transfer::nothing(RANKS as u32)) };
    let outcome = on(&step, "free", Wire::Model);
    assert_eq!(outcome.makespan.as_nanos(), (many as i64 + i64::from(stages) - 1) * 3_000_000);
    let begins = |stage: u32| outcome.played.iter().filter(|one| one.label.stage == stage).map(|one| one.start[0]).min();
    assert_eq!((begins(3), begins(0)), (Some(Span::ZERO), Some(Span::from_nanos(9_000_000))));
    assert!(outcome.played.iter().all(|one| one.label.backward));
}

#[test]
fn what_cannot_be_played_is_refused() {
    let step = single(dense(8));
    for broken in [
        Step { layers: 0, ..step.clone() },
        Step { nano_batches: 0, ..step.clone() },
        Step { layers: u32::MAX, nano_batches: u32::MAX, ..step.clone() },
        Step { activation_bytes: vec![0; RANKS + 1], ..step.clone() },
    ] {
        assert!(play(&broken, &Machine::H100, &network("free"), Wire::Model).is_err());
    }
    let forward = step.microbatches[0].clone();
    let backward = Microbatch { forward: None, backward: forward.forward.clone() };
    let neither = Microbatch { forward: None, backward: None };
    for microbatches in [vec![forward, backward.clone()], vec![neither.clone()], vec![backward, neither]] {
        let broken = Step { microbatches, ..step.clone() };
        assert!(play(&broken, &Machine::H100, &network("free"), Wire::Model).is_err());
    }
    let empty = Step { microbatches: Vec::new(), ..step };
    assert_eq!(play(&empty, &Machine::H100, &network("free"), Wire::Model).unwrap().makespan, Span::ZERO);
}
