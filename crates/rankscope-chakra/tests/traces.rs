//! Files of random steps: nodes come after what they need, every send has its receive, and what is moved is what the plan moves.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rankscope_chakra::Traces;
use rankscope_dispatch::events::{Machine, Microbatch, Passes, Step, StepShape};
use rankscope_dispatch::{Batch, Rows, Shard};
use rankscope_formats::wire::Fields;
use rankscope_time::Rank;

/// A node as it is read back.
#[derive(Debug, Default)]
struct Node {
    id: u64,
    name: String,
    kind: u64,
    needs: Vec<u64>,
    duration_us: u64,
    attributes: BTreeMap<String, u64>,
}

/// The messages of a file, each behind its length.
fn messages(mut file: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while !file.is_empty() {
        let (mut len, mut shift, mut at) = (0u64, 0, 0);
        loop {
            let byte = file[at];
            len |= u64::from(byte & 0x7f) << shift;
            (shift, at) = (shift + 7, at + 1);
            if byte < 0x80 {
                break;
            }
        }
        let end = at + len as usize;
        messages.push(&file[at..end]);
        file = &file[end..];
    }
    messages
}

fn node(message: &[u8]) -> Node {
    let mut node = Node::default();
    for field in Fields::of(message) {
        let (field, value) = field.unwrap();
        match field {
            1 => node.id = value.u64(),
            2 => node.name = String::from_utf8(value.bytes().to_vec()).unwrap(),
            3 => node.kind = value.u64(),
            4 | 5 => node.needs.extend(rankscope_formats::wire::packed_varints(value.bytes())),
            7 => node.duration_us = value.u64(),
            10 => {
                let fields: Vec<_> = Fields::of(value.bytes()).map(Result::unwrap).collect();
                let name = String::from_utf8(fields[0].1.bytes().to_vec()).unwrap();
                node.attributes.insert(name, fields[1].1.u64());
            }
            other => panic!("field {other} is none of a node"),
        }
    }
    node
}

fn nodes(file: &[u8]) -> Vec<Node> {
    let messages = messages(file);
    let version = Fields::of(messages[0]).next().unwrap().unwrap();
    assert_eq!((version.0, version.1.bytes()), (1, b"0.0.4".as_slice()));
    messages[1..].iter().map(|message| node(message)).collect()
}

const COMPUTATION: u64 = 4;
const SEND: u64 = 5;

fn batches(ranks: u32) -> impl Strategy<Value = Batch> {
    let shard = (0..ranks, 0..ranks, 1u32..3_000).prop_map(|(linear, attention, tokens)| Shard {
        linear: Rank(linear),
        attention: Rank(attention),
        tokens,
    });
    prop::collection::vec(prop::collection::vec(shard, 1..4), 1..6).prop_map(move |documents| {
        let mut batch = Batch::new(ranks).unwrap();
        documents.iter().for_each(|document| batch.push(document).unwrap());
        batch
    })
}

fn shapes() -> impl Strategy<Value = StepShape> {
    let passes = prop::sample::select(vec![Passes::Both, Passes::Resent, Passes::Forward, Passes::Backward]);
    (1u32..3, 1u32..4, prop::option::of(1u32..4), passes, any::<bool>()).prop_map(
        |(layers, stages, microbatches, passes, overlap)| {
            let mut shape = StepShape::default();
            (shape.layers, shape.stages, shape.microbatches) = (layers, stages, microbatches);
            (shape.passes, shape.overlap) = (passes, overlap);
            shape
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn files_are_a_step(batch in (1u32..6).prop_flat_map(batches), shape in shapes()) {
        let machine = Machine::H100;
        let step = Step::of_plans(&[((&batch).into(), &Rows::LLAMA_8B)], &shape, &machine).unwrap();
        let traces = Traces::new(&step, &machine).unwrap();
        prop_assert_eq!(traces.len(), step.ranks() * shape.stages as usize);
        let (mut sent, mut received) = (BTreeSet::new(), BTreeSet::new());
        let mut exchanged: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for npu in 0..traces.len() as u64 {
            for (place, node) in nodes(&traces.write(npu as usize)).iter().enumerate() {
                prop_assert_eq!(node.id, place as u64);
                prop_assert!(node.needs.iter().all(|need| *need < node.id), "{:?}", node);
                prop_assert_eq!(node.attributes["is_cpu_op"], 0);
                if node.kind == COMPUTATION {
                    prop_assert!(node.duration_us > 0 && node.attributes["num_ops"] > 0, "{:?}", node);
                    continue;
                }
                let of = |name: &str| node.attributes[name];
                let message = (of("comm_src"), of("comm_dst"), of("comm_tag"), of("comm_size"));
                prop_assert!(message.0 != message.1);
                prop_assert_eq!(if node.kind == SEND { message.0 } else { message.1 }, npu);
                let is_new = if node.kind == SEND { sent.insert(message) } else { received.insert(message) };
                prop_assert!(is_new, "{:?} is there twice", message);
                if node.kind == SEND && !node.name.starts_with("activations") {
                    // All stages are placed like the first.
                    let rank = |npu: u64| npu % step.ranks() as u64;
                    *exchanged.entry((rank(message.0), rank(message.1))).or_default() += message.3;
                }
            }
        }
        prop_assert_eq!(&sent, &received);
        let times = u64::from(step.layers) * u64::from(step.stages) * u64::from(step.nano_batches);
        let mut expected: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        let passes = step.microbatches.iter().flat_map(Microbatch::passes);
        for transfer in passes.flat_map(|pass| [&pass.there, &pass.back]) {
            for (from, to, bytes) in transfer.traffic.pairs().iter().filter(|pair| pair.0 != pair.1) {
                *expected.entry((from.0.into(), to.0.into())).or_default() += bytes * times;
            }
        }
        prop_assert_eq!(exchanged, expected);
    }
}

/// With one rank there is nobody to talk to: its computation alone, one after the other.
#[test]
fn a_lone_rank_computes_in_turn() {
    let mut batch = Batch::new(1).unwrap();
    batch.push(&[Shard { linear: Rank(0), attention: Rank(0), tokens: 8_192 }]).unwrap();
    let step = Step::of_plans(&[((&batch).into(), &Rows::LLAMA_8B)], &StepShape::default(), &Machine::H100).unwrap();
    let nodes = nodes(&Traces::new(&step, &Machine::H100).unwrap().write(0));
    let attention: Vec<&Node> = nodes.iter().filter(|node| node.name.starts_with("attention")).collect();
    assert_eq!(attention.len(), 2, "forward and backward");
    let flops = batch.cells().unwrap()[0] * 4 * u64::from(Rows::LLAMA_8B.hidden_q);
    let off = attention[0].attributes["num_ops"].abs_diff(flops);
    assert!(off <= Machine::H100.attention_flops_per_second / 1_000_000_000, "to the nanosecond: {off}");
    for pair in nodes.windows(2) {
        assert_eq!(pair[1].needs, [pair[0].id], "{pair:?}");
    }
}
