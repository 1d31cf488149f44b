//! Tables of a network whose truth is known, with noise on them, give that truth back.

#![expect(clippy::unwrap_used, reason = "a broken assumption of a test is a failure of it")]

use proptest::prelude::*;
use rankscope_dispatch::Error;
use rankscope_dispatch::network::calibrate::{Calibration, Operation, Samples, calibrate, read};

/// Noise of at most `percent`, the same for the same place.
fn noise(place: u64, percent: f64) -> f64 {
    let mixed = place.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let unit = (mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64;
    1.0 + percent / 100.0 * (2.0 * unit - 1.0)
}

/// What nccl-tests would print where an operation takes `alpha_us` and a byte every `1 / gigabytes` ns.
fn nccl(operation: &str, ranks: u32, sizes: std::ops::Range<u32>, alpha_us: f64, gigabytes: f64, percent: f64) -> String {
    let mut text = format!("# Collective test starting: {operation}_perf\n");
    for rank in 0..ranks {
        text.push_str(&format!("#  Rank {rank:2} Group  0 Pid {} on   box0 device {rank:2} [0x1b] NVIDIA H100\n", 4000 + rank));
    }
    text.push_str("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n");
    text.push_str(
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n",
    );
    for power in sizes {
        let bytes = 1_u64 << power;
        // Small transfers take other protocols: cheaper to start, slower a byte.
        let small = 20.0 + bytes as f64 / 1e3 / 60.0;
        let large = alpha_us + bytes as f64 / 1e3 / gigabytes;
        let time = if power < 23 { small.min(large) } else { large } * noise(u64::from(power), percent);
        let rate = bytes as f64 / 1e3 / time;
        let row = format!("{time:9.2} {rate:7.2} {rate:7.2}      0 ");
        text.push_str(&format!("{bytes:12} {:13}     float    none      -1{row}{row}\n", bytes / 4));
    }
    text.push_str("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 123.4\n");
    text
}

fn fitted(text: &str) -> (Samples, Calibration) {
    let samples = read(text, None, None).unwrap();
    let calibration = calibrate(&samples.rows).unwrap();
    (samples, calibration)
}

fn near(found: f64, truth: f64, percent: f64) -> bool {
    (found / truth - 1.0).abs() * 100.0 <= percent
}

#[test]
fn alpha_and_rate_come_back_from_a_table_without_noise() {
    let (samples, calibration) = fitted(&nccl("all_gather", 8, 10..34, 51.0, 428.0, 0.0));
    assert_eq!((samples.operation, samples.ranks, samples.hosts), (Operation::AllGather, 8, Some(1)));
    // Seven messages of an eighth each.
    assert!(near(calibration.cost.alpha.as_nanos() as f64, 51_000.0 / 7.0, 1.0), "{calibration:?}");
    assert!(near(calibration.cost.bytes_per_second as f64, 428e9 * 7.0 / 8.0, 0.1), "{calibration:?}");
    assert_eq!((calibration.bulk_bytes, calibration.fitted.rows), (8 << 20, 11));
    assert!(calibration.fitted.worst < 0.001 && calibration.outliers.is_empty());
}

#[test]
fn with_noise_the_error_stays_within_it_on_and_off_the_rows() {
    let (_, calibration) = fitted(&nccl("alltoall", 8, 10..34, 67.0, 266.0, 4.0));
    let held_out = calibration.held_out.unwrap();
    assert!(calibration.fitted.worst < 0.08, "{:?}", calibration.fitted);
    assert!(held_out.rows >= 4 && held_out.worst < 0.12, "{held_out:?}");
    assert!(near(calibration.cost.bytes_per_second as f64, 266e9 * 7.0 / 8.0, 5.0), "{calibration:?}");
    let small = calibration.held_out_small.unwrap();
    assert!(small.worst < 0.2, "{small:?}");
    assert_eq!(calibration.cost.small.points().len(), 14, "every size below 8 MB, and the first of the line");
}

#[test]
fn a_row_that_was_disturbed_is_named_and_changes_nothing() {
    let clean = nccl("all_reduce", 8, 23..34, 67.0, 266.0, 1.0);
    let line = clean.lines().position(|line| line.trim_start().starts_with("1073741824 ")).unwrap();
    let disturbed: Vec<String> = clean
        .lines()
        .enumerate()
        .map(
            |(at, text)| {
                if at == line { "1073741824 268435456 float sum -1 90000 11 11 0 91000 11 11 0".into() } else { text.into() }
            },
        )
        .collect();
    let (_, calibration) = fitted(&disturbed.join("\n"));
    let [outlier] = calibration.outliers.as_slice() else { panic!("one outlier, not {:?}", calibration.outliers) };
    assert_eq!((outlier.place, outlier.size_bytes), (line + 1, 1 << 30));
    assert!(outlier.error < -0.9);
    let (_, without) = fitted(&clean);
    assert!(near(calibration.cost.bytes_per_second as f64, without.cost.bytes_per_second as f64, 2.0));
}

#[test]
fn two_numbers_of_ranks_tell_the_base_from_the_messages() {
    // 30 us to start, 4 us a message, 300 GB/s a port.
    let table = |ranks: u32| {
        let peers = f64::from(ranks - 1);
        nccl("alltoall", ranks, 23..34, 30.0 + 4.0 * peers, 300.0 * f64::from(ranks) / peers, 0.5)
    };
    let rows: Vec<_> = [4, 8, 16].iter().flat_map(|ranks| read(&table(*ranks), None, None).unwrap().rows).collect();
    let calibration = calibrate(&rows).unwrap();
    assert!(near(calibration.base.as_nanos() as f64, 30_000.0, 15.0), "{calibration:?}");
    assert!(near(calibration.cost.alpha.as_nanos() as f64, 4_000.0, 15.0), "{calibration:?}");
    assert!(near(calibration.cost.bytes_per_second as f64, 300e9, 1.0), "{calibration:?}");
}

#[test]
fn latency_and_bandwidth_of_a_pair_belong_to_one_line() {
    // 2 us a message and 24 GB/s.
    let mut latency = "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n".to_owned();
    let mut bandwidth = "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n".to_owned();
    for power in 4..23_u32 {
        let bytes = f64::from(1_u32 << power);
        latency.push_str(&format!("{bytes:<10} {:18.2}\n", 2.0 + bytes / 24_000.0));
        bandwidth.push_str(&format!("{bytes:<10} {:18.2}\n", 24_000.0));
    }
    let rows: Vec<_> = [latency, bandwidth].iter().flat_map(|text| read(text, None, None).unwrap().rows).collect();
    let calibration = calibrate(&rows).unwrap();
    assert!(near(calibration.cost.bytes_per_second as f64, 24e9, 0.5), "{calibration:?}");
    assert!(near(calibration.cost.alpha.as_nanos() as f64, 2_000.0, 5.0), "{calibration:?}");
}

#[test]
fn one_size_is_no_line() {
    let text = nccl("all_gather", 8, 30..31, 51.0, 428.0, 0.0);
    let rows = read(&text, None, None).unwrap().rows;
    assert_eq!(calibrate(&rows), Err(Error::TooFewSamples { have: 1, need: 3 }));
    assert_eq!(calibrate(&[rows[0]; 5]), Err(Error::TooFewSamples { have: 5, need: 3 }));
}

#[test]
fn what_is_no_benchmark_says_what_to_give() {
    for text in ["", "hello\nworld\n", "# OSU MPI Latency Test v7.3\n"] {
        assert!(matches!(read(text, None, None), Err(Error::UnknownBenchmark { .. })), "{text:?}");
    }
}

#[test]
fn a_public_run_of_256_gpus_is_met_within_a_tenth() {
    // Times of all_reduce_perf on 16 nodes of 16 GPUs, as told in issue 78 of nccl-tests; launchers tag lines like this.
    let rows = [(33_554_432_u64, 1464.2, 1458.1), (67_108_864, 2659.1, 3014.6), (134_217_728, 4263.8, 4647.4)];
    let more = [(268_435_456_u64, 7946.8, 7615.2), (536_870_912, 16129.0, 14383.0), (1_073_741_824, 29896.0, 29411.0)];
    let mut text = "# size count type redop time algbw busbw error time algbw busbw error\n".to_owned();
    for (bytes, out_of_place, in_place) in rows.into_iter().chain(more) {
        let (count, rates) = (bytes / 4, "1.0 1.0 N/A");
        text.push_str(&format!("[1,0]<stdout>: {bytes} {count} float sum {out_of_place} {rates} {in_place} {rates}\n"));
    }
    let samples = read(&text, Some(Operation::AllReduce), Some(256)).unwrap();
    let calibration = calibrate(&samples.rows).unwrap();
    assert_eq!((samples.rows.len(), calibration.outliers.len()), (6, 0));
    assert!(calibration.fitted.mean < 0.05 && calibration.fitted.worst < 0.1, "{calibration:?}");
    assert!(calibration.held_out.unwrap().worst < 0.2, "{calibration:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_truth_comes_back(alpha_us in 30.0..200.0_f64, gigabytes in 100.0..800.0_f64, ranks in 2..32_u32) {
        let (_, calibration) = fitted(&nccl("alltoall", ranks, 23..34, alpha_us, gigabytes, 1.0));
        prop_assert!(calibration.fitted.worst < 0.03);
        let port = gigabytes * 1e9 * f64::from(ranks - 1) / f64::from(ranks);
        prop_assert!(near(calibration.cost.bytes_per_second as f64, port, 3.0), "{:?}", calibration);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(# (size|OSU MPI|Rank 0) ?[ -~]{0,40}\n|[0-9]{1,20}( [0-9a-z.-]{1,8}){0,14}\n){0,12}") {
        for ranks in [None, Some(0), Some(u32::MAX)] {
            if let Ok(samples) = read(&text, Some(Operation::AllToAll), ranks) {
                let fitted = calibrate(&samples.rows);
                let refused_for_size = matches!(fitted, Err(Error::TooFewSamples { .. }));
                prop_assert!(fitted.is_ok() || refused_for_size, "{:?}", fitted);
            }
        }
    }
}
