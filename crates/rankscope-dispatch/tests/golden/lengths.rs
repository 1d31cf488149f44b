//! Sequence lengths and the stream they are drawn from.

use rankscope_dispatch::TorchRandom;
use rankscope_dispatch::draw::gen_seq_lens;

use crate::case::{number, of_kind, tensor};

#[test]
fn draws_and_lengths_are_those_of_torch() {
    for (name, case) in of_kind("gen_seq_lens") {
        let rng = &case["rng"];
        for (seed, key) in [(0, "seed0_u32"), (42, "seed42_u32")] {
            let mut random = TorchRandom::new(seed);
            for drawn in tensor(&rng[key]).values() {
                assert_eq!(i64::from(random.bits()), *drawn, "{name}: {key}");
            }
        }
        let mut random = TorchRandom::new(0);
        for drawn in rng["seed0_rand"].as_array().unwrap() {
            assert_eq!(random.uniform(), drawn.as_f64().unwrap() as f32, "{name}");
        }
        for case in case["cases"].as_array().unwrap() {
            let mut random = TorchRandom::new(case["seed"].as_u64().unwrap());
            let [ranks, sequences, tokens] = ["world_size", "num_seqs", "total_len"].map(|key| number(&case[key]));
            let lengths = gen_seq_lens(&mut random, ranks, sequences, tokens).unwrap();
            assert_eq!(lengths, tensor(&case["seq_lens"]), "{name}: {case}");
        }
        let few = &case["nonpositive_lengths_W1_S10_T50"];
        let lengths = |seed| gen_seq_lens(&mut TorchRandom::new(seed), 1, 10, 50).unwrap();
        let bad =
            (0..few["seeds_tested"].as_u64().unwrap()).filter(|&seed| lengths(seed).values().iter().any(|&length| length < 1));
        assert_eq!(bad.count() as u64, few["count"].as_u64().unwrap());
        for example in few["examples"].as_array().unwrap() {
            assert_eq!(lengths(example["seed"].as_u64().unwrap()), tensor(&example["seq_lens"]));
        }
    }
}
