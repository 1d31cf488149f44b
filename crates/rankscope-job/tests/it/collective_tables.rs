//! Tables of collectives: what is known of jobs that were made up has to be in them, to the nanosecond and to the byte.

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;
use rankscope_document::{CollectiveTables, Document, Link, RankCollectiveSummary};
use rankscope_formats::Scope;
use rankscope_job::{Analysed, Facts, Job, JobTable, Judging, Parts, Rules, judge};
use rankscope_testkit::{Dialect, Job as Synthetic, Metadata, NodeClock, Straggler};

use crate::bench::{judged, part, parts, place, trace};

/// All tables of `job`, and its document.
fn tables(job: Job) -> (CollectiveTables, Document) {
    let analysed = Analysed::of(job, None).expect("no step is asked for");
    let tables = analysed.collective_tables(&JobTable::ALL).expect("they were asked for");
    (tables, analysed.document("a job"))
}

/// A kernel of a rank: name, other arguments, start and end in microseconds.
struct Kernel<'a> {
    name: &'a str,
    args: String,
    start_us: u32,
    end_us: u32,
}

/// A trace of `rank` on `host` in which these kernels ran.
fn written(rank: u32, world: u32, host: &str, kernels: &[Kernel<'_>]) -> Vec<u8> {
    let mut text = format!(
        r#"{{"schemaVersion": 1, "distributedInfo": {{"rank": {rank}, "world_size": {world}}}, "host_name": "{host}",
        "baseTimeNanoseconds": 1700000000000000000, "traceEvents": ["#
    );
    for (at, Kernel { name, args, start_us, end_us }) in kernels.iter().enumerate() {
        let (gap, dur) = (if at == 0 { "" } else { "," }, end_us - start_us);
        write!(
            text,
            r#"{gap}{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 20, "ts": {start_us}, "dur": {dur},
            "args": {{"device": 0, "stream": 20{args}}}}}"#
        )
        .expect("text grows");
    }
    text.push_str("]}");
    text.into_bytes()
}

fn of_files(files: Vec<Vec<u8>>, ranks_per_node: Option<u32>) -> Job {
    let mut parts = Parts::new(Rules::default());
    for (number, bytes) in files.into_iter().enumerate() {
        let trace = trace(&format!("rank{number}.json"), bytes, Scope::All);
        parts.add(place(number), part(trace)).expect("one part a place");
    }
    judge(parts, &Facts::default(), Judging::default().with_ranks_per_node(ranks_per_node)).expect("it can be judged")
}

/// The arguments of a collective.
fn args(name: &str, dtype: &str, (put_in, got_out): (u64, u64), group: (&str, &str, &[u32]), more: &str) -> String {
    let (group, description, ranks) = group;
    format!(
        r#", "Collective name": "{name}", "In msg nelems": {put_in}, "Out msg nelems": {got_out}, "Group size": {}, "dtype": "{dtype}",
        "Process Group Name": "{group}", "Process Group Description": "{description}", "Process Group Ranks": "{ranks:?}"{more}"#,
        ranks.len()
    )
}

/// Whatever is in the job, waits, transfers and what is unmatched of each rank are its time in collectives.
fn assert_adds_up(tables: &CollectiveTables, document: &Document, job: &Job) {
    let stragglers = tables.straggler_summary.as_ref().expect("the table");
    let long = tables.nccl_summary_long.as_ref().expect("the table");
    let every = tables.nccl_long.as_ref().expect("the table");
    let groups = tables.by_group.as_ref().expect("the table");
    for (rank, collectives) in job.ranks.iter().zip(&job.collectives) {
        let own_ns: i64 = collectives.collectives.iter().map(|one| one.dur_ns()).sum();
        let row = stragglers.iter().find(|row| row.rank == rank.rank.0).expect("every rank has a row");
        assert_eq!(row.collective_ns, own_ns, "rank {}", row.rank);
        assert_eq!(row.total_wait_ns + row.total_transfer_ns + row.unmatched_ns, own_ns, "rank {}", row.rank);
        let of_rank =
            |of: fn(&RankCollectiveSummary) -> i64| long.iter().filter(|one| one.rank == row.rank).map(of).sum::<i64>();
        assert_eq!(of_rank(|one| one.sum_ns), own_ns);
        assert_eq!(of_rank(|one| one.wait_ns), row.total_wait_ns);
        assert_eq!(of_rank(|one| one.transfer_ns), row.total_transfer_ns);
        assert_eq!(of_rank(|one| one.unmatched_ns), row.unmatched_ns);
        let account = document.ranks.iter().find(|own| own.rank == row.rank).expect("every rank");
        assert_eq!(of_rank(|one| one.exposed_ns.unwrap_or(0)), account.time_ns.exposed_comm);
        let parts = || every.iter().filter(|one| one.rank == row.rank);
        assert_eq!(parts().map(|one| one.stay_ns).sum::<i64>(), own_ns);
        assert!(
            parts().all(
                |one| !one.matched || one.wait_ns.zip(one.transfer_ns).map(|(wait, rest)| wait + rest) == Some(one.stay_ns)
            )
        );
        assert_eq!(parts().filter_map(|one| one.wait_ns).sum::<i64>(), row.total_wait_ns);
        let known = document.collectives.ranks.iter().find(|known| known.rank == row.rank).expect("every rank");
        assert_eq!((row.last, row.first, row.arrivals), (known.last, known.first, known.matched));
        assert!(row.last_least <= row.last && row.last <= row.last_most);
    }
    let all_ns: i64 = stragglers.iter().map(|row| row.collective_ns).sum();
    assert_eq!(groups.iter().map(|row| row.collective_ns).sum::<i64>(), all_ns);
    assert!(groups.iter().all(|row| row.wait_ns + row.transfer_ns + row.unmatched_ns == row.collective_ns));
    let summary = tables.nccl_summary_implicit_sync.as_ref().expect("the table");
    let instances = tables.nccl_implicit_sync.as_ref().expect("the table");
    assert_eq!(summary.iter().map(|row| row.matched).sum::<u64>(), document.collectives.matched);
    assert_eq!(summary.iter().map(|row| row.count - row.matched).sum::<u64>(), document.collectives.unmatched);
    assert_eq!(instances.iter().filter(|row| row.matched).count() as u64, document.collectives.matched);
    let transfers_ns: i64 = instances.iter().filter_map(|row| row.transfer_ns).sum();
    assert_eq!(summary.iter().map(|row| row.total_transfer_ns).sum::<i64>(), transfers_ns);
    assert!(instances.is_sorted_by_key(|row| row.at_ns) && instances.first().is_none_or(|row| row.at_ns == 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn waits_and_transfers_are_the_time_in_collectives(
        ranks in 2u32..6, seed in 0u64..1_000, offset_ns in -900_000i64..900_000, drift_ppb in -20_000i64..20_000, grouped in any::<bool>(),
        missing in prop::collection::vec((0u32..6, 0u32..12), 0..3), metadata in 0usize..3,
    ) {
        let metadata = [Metadata::None, Metadata::Args, Metadata::ArgsAndSeq][metadata];
        let job = Synthetic {
            ranks: if grouped { ranks & !1 } else { ranks }, steps: 2, layers: 3, ops_per_step: 6, python_frames: 0, seed, metadata,
            group_size: grouped.then_some(2), gpus_per_node: 2, clocks: vec![NodeClock::default(), NodeClock { offset_ns, drift_ppb }],
            missing: missing.into_iter().filter(|(rank, _)| *rank < ranks).collect(), ..Synthetic::default()
        };
        let job = judged(parts(&job, &Dialect::default(), &Rules::default()));
        let (tables, document) = tables(job.clone());
        assert_adds_up(&tables, &document, &job);
    }
}

#[test]
fn last_arrivals_are_those_of_the_truth_and_say_what_hangs_on_the_clocks() {
    let far = NodeClock { offset_ns: 850_000, drift_ppb: 5_000 };
    let job = Synthetic {
        ranks: 8,
        steps: 4,
        gpus_per_node: 4,
        clocks: vec![NodeClock::default(), far],
        metadata: Metadata::ArgsAndSeq,
        straggler: Some(Straggler { rank: 5, factor: 1.3 }),
        ..Synthetic::default()
    };
    let truth = job.truth().last_arrivals();
    let (tables, _) = tables(judged(parts(&job, &Dialect::default(), &Rules::default())));
    let rows = tables.straggler_summary.expect("the table");
    assert_eq!(rows[0].rank, 5, "who came last most often is first");
    for row in rows {
        let truth = u64::from(truth[row.rank as usize]);
        assert!(row.last_least <= truth && truth <= row.last_most, "{row:?}: {truth}");
        assert_eq!(row.flips, row.last_least != row.last_most);
        assert!(row.flips_at_most || !row.flips, "{row:?}");
    }
}

#[test]
fn what_is_missing_on_one_rank_is_listed_and_in_no_mean() {
    let job = Synthetic { ranks: 3, missing: vec![(1, 4)], ..Synthetic::default() };
    let (tables, document) = tables(judged(parts(&job, &Dialect::default(), &Rules::default())));
    let instances = tables.nccl_implicit_sync.expect("the table");
    let open: Vec<_> = instances.iter().filter(|row| !row.matched).collect();
    assert_eq!(open.len(), 1);
    assert_eq!((open[0].ranks.as_str(), open[0].absent.as_deref()), ("0,2", Some("1")));
    assert_eq!((open[0].transfer_ns, open[0].last_rank, open[0].busbw_gbps), (None, None, None));
    assert_eq!(document.collectives.unmatched, 1);
    let summary = tables.nccl_summary_implicit_sync.expect("the table");
    assert!(summary.iter().any(|row| row.matched + 1 == row.count));
}

/// Four ranks on two nodes: rank `r` sends `amounts[r][s]` elements to rank `s`.
fn uneven(amounts: &[[u64; 4]; 4], cut: Option<usize>, dtype: &str) -> CollectiveTables {
    let all = [0, 1, 2, 3];
    let files = (0..4).map(|own| {
        let sent = amounts[own];
        let received: Vec<u64> = amounts.iter().map(|row| row[own]).collect();
        let list = |of: &[u64]| if cut == Some(own) { "[1, 2, ..., 9]".to_owned() } else { format!("{of:?}") };
        let more = format!(r#", "In split size": "{}", "Out split size": "{}""#, list(&sent), list(&received));
        let sizes = (sent.iter().sum(), received.iter().sum());
        let args = args("all_to_allv", dtype, sizes, ("7", "EXPERT_MODEL_PARALLEL_GROUP", &all), &more);
        let name = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
        let start_us = 100 + 10 * own as u32;
        written(own as u32, 4, "", &[Kernel { name, args, start_us, end_us: 230 }])
    });
    tables(of_files(files.collect(), Some(2))).0
}

const AMOUNTS: [[u64; 4]; 4] = [[10, 20, 30, 40], [0, 5, 0, 500], [7, 7, 7, 7], [1, 2, 3, 4]];

#[test]
fn an_uneven_all_to_all_has_the_bytes_of_every_pair() {
    let tables = uneven(&AMOUNTS, None, "BFloat16");
    let pairs = tables.nccl_all2allv_heatmap.expect("the table");
    assert_eq!(pairs.len(), 16);
    let apart = AMOUNTS.iter().flatten().sum::<u64>() - 10 - 5 - 7 - 4;
    let mean = 2.0 * apart as f64 / 12.0;
    for row in &pairs {
        assert_eq!(row.bytes, 2 * AMOUNTS[row.from_rank as usize][row.to_rank as usize]);
        assert_eq!((row.count, row.unsized_count), (1, 0));
        assert!((row.over_mean.unwrap() - row.bytes as f64 / mean).abs() < 1e-12);
        let link = match (row.from_rank, row.to_rank) {
            (from, to) if from == to => Link::OneRank,
            (from, to) if from / 2 == to / 2 => Link::IntraNode,
            _ => Link::InterNode,
        };
        assert_eq!(row.link, link);
    }
    let row = &tables.nccl_all2allv.expect("the table")[0];
    assert_eq!((row.bytes, row.sent_max_bytes, row.sent_max_rank), (Some(2 * 643), Some(2 * 505), Some(1)));
    assert_eq!((row.received_max_bytes, row.received_max_rank), (Some(2 * 551), Some(3)));
    assert!((row.sent_imbalance.unwrap() - 505.0 / (643.0 / 4.0)).abs() < 1e-12);
    assert_eq!((row.splits_recorded, row.transfer_ns, row.start_skew_ns), (4, Some(100_000), Some(30_000)));
    let algbw = (2 * 643 / 4) as f64 / 100_000.0;
    assert!((row.algbw_gbps.unwrap() - algbw).abs() < 1e-12 && (row.busbw_gbps.unwrap() - algbw * 0.75).abs() < 1e-12);
    let summary = &tables.nccl_summary_all2allv.expect("the table")[0];
    assert_eq!((summary.count, summary.matched, summary.bytes, &summary.link), (1, 1, Some(1_286), &Link::InterNode));
    let group = &tables.by_group.expect("the table")[0];
    assert_eq!((group.parallelism.as_deref(), group.members.as_str(), group.nodes), (Some("ep"), "0-3", Some(2)));
}

#[test]
fn a_list_that_was_cut_is_told_by_the_other_ends() {
    let whole = uneven(&AMOUNTS, None, "Byte").nccl_all2allv_heatmap.expect("the table");
    let cut = uneven(&AMOUNTS, Some(1), "Byte");
    let pairs = cut.nccl_all2allv_heatmap.expect("the table");
    let both = |row: &rankscope_document::PairRow| (row.from_rank, row.to_rank, row.bytes);
    // What rank 1 sent itself nobody tells.
    let expected: Vec<_> = whole.iter().map(both).filter(|(from, to, _)| (*from, *to) != (1, 1)).collect();
    assert_eq!(pairs.iter().map(both).collect::<Vec<_>>(), expected);
    let row = &cut.nccl_all2allv.expect("the table")[0];
    assert_eq!((row.splits_recorded, row.bytes), (3, Some(643)), "how much each put in is told beside the list");
}

#[test]
fn places_in_lists_are_of_the_group_and_not_of_the_job() {
    let file = |own: u32, sent: [u64; 2], received: [u64; 2]| {
        let more = format!(r#", "In split size": "{sent:?}", "Out split size": "{received:?}""#);
        let args = args("all_to_allv", "Float", (sent.iter().sum(), received.iter().sum()), ("9", "mesh_ep", &[4, 6]), &more);
        written(own, 8, "", &[Kernel { name: "ncclDevKernel_SendRecv(x)", args, start_us: 5, end_us: 50 }])
    };
    let (tables, _) = tables(of_files(vec![file(4, [1, 2], [1, 3]), file(6, [3, 4], [2, 4])], None));
    let pairs: Vec<_> =
        tables.nccl_all2allv_heatmap.expect("the table").iter().map(|row| (row.from_rank, row.to_rank, row.bytes)).collect();
    assert_eq!(pairs, [(4, 4, 4), (4, 6, 8), (6, 4, 12), (6, 6, 16)]);
}

#[test]
fn bytes_of_a_type_nobody_knows_are_missing_and_not_zero() {
    let tables = uneven(&AMOUNTS, None, "Frobnicated");
    let pairs = tables.nccl_all2allv_heatmap.expect("the table");
    assert!(pairs.iter().all(|row| (row.count, row.unsized_count, row.bytes, row.over_mean) == (1, 1, 0, None)));
    assert_eq!(tables.nccl_all2allv.expect("the table")[0].bytes, None);
    assert_eq!(tables.nccl_summary_all2allv.expect("the table")[0].bytes, None);
}

#[test]
fn every_kind_has_a_row_with_the_bandwidth_of_nccl_tests() {
    // Name, elements in and out, elements counted, and the factor for four ranks.
    const KINDS: [(&str, u64, u64, Option<u64>, f64); 16] = [
        ("allreduce", 1_000, 1_000, Some(1_000), 1.5),
        ("allreduce_coalesced", 1_000, 1_000, Some(1_000), 1.5),
        ("_allgather_base", 1_000, 4_000, Some(4_000), 0.75),
        ("allgather_into_tensor_coalesced", 1_000, 4_000, Some(4_000), 0.75),
        ("_reduce_scatter_base", 4_000, 1_000, Some(4_000), 0.75),
        ("reduce_scatter_tensor_coalesced", 4_000, 1_000, Some(4_000), 0.75),
        ("all_to_all", 4_000, 4_000, Some(4_000), 0.75),
        ("broadcast", 1_000, 1_000, Some(1_000), 1.0),
        ("reduce", 1_000, 1_000, Some(1_000), 1.0),
        ("_reduce_oop", 1_000, 1_000, Some(1_000), 1.0),
        ("gather", 1_000, 4_000, Some(1_000), 0.75),
        ("scatter", 4_000, 1_000, Some(4_000), 0.75),
        ("barrier", 1, 1, None, 1.0),
        ("_broadcast_oop", 1_000, 1_000, Some(1_000), 1.0),
        ("_allgather_base_coalesced", 1_000, 4_000, Some(4_000), 0.75),
        ("frobnicate", 1_000, 1_000, Some(1_000), 1.0),
    ];
    for (dtype, width) in [("Float8_e4m3fn", 1), ("Char", 1), ("Bool", 1), ("ComplexFloat", 8), ("BFloat16", 2)] {
        let file = |own: u32| {
            let kernel = |(at, (name, put_in, got_out, ..)): (u32, &(&'static str, u64, u64, Option<u64>, f64))| {
                let args = args(name, dtype, (*put_in, *got_out), ("0", "default_pg", &[0, 1, 2, 3]), "");
                let start_us = 1_000 * at + 17 * (own + 1);
                Kernel { name: "ncclDevKernel_Generic(x)", args, start_us, end_us: 1_000 * at + 168 }
            };
            written(own, 4, "node", &(0..).zip(&KINDS).map(kernel).collect::<Vec<_>>())
        };
        let job = of_files((0..4).map(file).collect(), None);
        let (tables, document) = tables(job.clone());
        assert_adds_up(&tables, &document, &job);
        let rows = tables.nccl_summary_implicit_sync.expect("the table");
        assert_eq!(rows.len(), KINDS.len(), "{dtype}");
        for (name, _, _, counted, factor) in KINDS {
            let row = rows.iter().find(|row| row.name == name).expect("every name has a row");
            assert_eq!((row.matched, row.transfer_min_ns, row.start_skew_max_ns), (1, Some(100_000), Some(51_000)), "{name}");
            assert_eq!((row.wait_mean_ns, row.link.as_str(), row.clock_error_ns), (Some(25_500.0), "intra_node", Some(0)));
            assert_eq!(row.bytes, counted.map(|elements| elements * width), "{name} of {dtype}");
            let algbw = counted.map(|elements| (elements * width) as f64 / 100_000.0);
            assert_eq!(row.algbw_mean_gbps, algbw, "{name}");
            assert_eq!(row.busbw_median_gbps, algbw.map(|algbw| algbw * factor), "{name}");
        }
    }
}

#[test]
fn a_message_is_between_two_ranks_and_makes_nobody_a_straggler() {
    let message = |name: &str, to: (&str, u32)| {
        let more = format!(r#", "{}": {}"#, to.0, to.1);
        args(name, "Half", (500, 500), ("3", "PIPELINE_MODEL_PARALLEL_GROUP", &[0, 1, 2, 3]), &more)
    };
    let kernel = |args: String, start_us, end_us| {
        let name = if args.is_empty() { "gemm" } else { "ncclDevKernel_SendRecv(x)" };
        [Kernel { name, args, start_us, end_us }]
    };
    let files = vec![
        written(0, 4, "a", &kernel(message("send", ("Dst Rank", 3)), 40, 100)),
        written(1, 4, "a", &kernel(String::new(), 5, 6)),
        written(2, 4, "b", &kernel(String::new(), 5, 6)),
        written(3, 4, "b", &kernel(message("recv", ("Src Rank", 0)), 10, 100)),
    ];
    let job = of_files(files, None);
    let (tables, document) = tables(job.clone());
    assert_adds_up(&tables, &document, &job);
    let row = &tables.nccl_implicit_sync.expect("the table")[0];
    assert_eq!((row.matched, row.ranks.as_str(), row.group_size, row.link.as_str()), (true, "0,3", 2, "inter_node"));
    assert_eq!((row.transfer_ns, row.bytes, row.waits_for.as_str()), (Some(60_000), Some(1_000), "peer"));
    assert_eq!((row.algbw_gbps, row.busbw_gbps), (Some(1_000.0 / 60_000.0), Some(1_000.0 / 60_000.0)));
    let stragglers = tables.straggler_summary.expect("the table");
    assert!(stragglers.iter().all(|row| row.last == 0 && row.last_most == 0));
    let kinds = tables.by_parallelism.expect("the table");
    assert_eq!(kinds[0].parallelism.as_deref(), Some("pp"));
}

#[test]
fn a_rank_whose_kernel_says_nothing_makes_no_exchange_uneven() {
    let group = ("5", "EXPERT_MODEL_PARALLEL_GROUP", [0, 1].as_slice());
    let file = |own: u32| {
        let reduce = args("allreduce", "Float", (64, 64), group, "");
        let exchange = if own == 0 { args("all_to_all", "Float", (1_000, 1_000), group, "") } else { String::new() };
        let kernel = |args, start_us, end_us| Kernel { name: "ncclDevKernel_Generic(x)", args, start_us, end_us };
        written(own, 2, "", &[kernel(reduce, 10 + own, 40), kernel(exchange, 100 + own, 201)])
    };
    let (tables, _) = tables(of_files(vec![file(0), file(1)], None));
    let rows = tables.nccl_implicit_sync.expect("the table");
    assert_eq!((rows[1].kind.as_str(), rows[1].matched, rows[1].bytes), ("all_to_all", true, Some(4_000)));
    assert_eq!((rows[1].in_elements, rows[1].busbw_gbps), (Some(1_000), Some(0.02)));
    assert!(tables.nccl_all2allv.expect("the table").is_empty());
}

#[test]
fn sizes_of_a_group_lie_on_their_line() {
    let sizes = [1_u64 << 10, 1 << 14, 1 << 18, 1 << 20];
    // 20 us, and a microsecond for every 4 KiB.
    let took_us = |bytes: u64| 20 + (bytes / 4_096) as u32;
    let file = |own: u32| {
        let mut now = 0;
        let kernel = |bytes: u64| {
            let start_us = now + 5 * own;
            now += 5 + took_us(bytes);
            let kernel = args("allreduce", "Byte", (bytes, bytes), ("1", "DATA_PARALLEL_GROUP", &[0, 1]), "");
            Kernel { name: "ncclDevKernel_AllReduce_Sum_u8_RING_LL(x)", args: kernel, start_us, end_us: now }
        };
        written(own, 2, "", &sizes.into_iter().map(kernel).collect::<Vec<_>>())
    };
    let (tables, _) = tables(of_files(vec![file(0), file(1)], None));
    let rows = tables.size_classes.expect("the table");
    assert_eq!(rows.iter().map(|row| row.bytes).collect::<Vec<_>>(), sizes);
    for row in rows {
        assert_eq!((row.fit.as_str(), row.sizes, row.count), ("theil_sen", 4, 1));
        assert!((row.latency_ns.unwrap() - 20_000.0).abs() < 300.0, "{row:?}");
        assert!((row.bandwidth_gbps.unwrap() - 4.096).abs() < 0.01, "{row:?}");
        assert!(row.over_line.unwrap().abs() < 0.02, "{row:?}");
    }
}

#[test]
fn only_tables_that_were_asked_for_are_made() {
    let job = Synthetic { ranks: 2, steps: 1, ..Synthetic::default() };
    let analysed = Analysed::of(judged(parts(&job, &Dialect::default(), &Rules::default())), None).expect("a job");
    assert_eq!(analysed.collective_tables(&[]), None);
    for table in JobTable::ALL {
        let json = serde_json::to_value(analysed.collective_tables(&[table])).expect("JSON");
        let keys: Vec<&str> = json.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(BTreeMap::from_iter(keys.into_iter().map(|key| (key, ()))).len(), 2, "{table}");
        let rows = json[table.name()].as_array().unwrap_or_else(|| panic!("{table}"));
        let is_flat = |row: &serde_json::Value| {
            row.as_object().is_some_and(|row| row.values().all(|cell| !cell.is_array() && !cell.is_object()))
        };
        assert!(rows.iter().all(is_flat), "{table}");
    }
}
