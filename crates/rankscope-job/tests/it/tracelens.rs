//! What TraceLens told of one job, whose clocks are equal: from the same stamps the same figures come, but for the unit of bandwidth.
//!
//! The job is eight ranks with six all-reduces of bfloat16, as its sheet `nccl_implicit_sync` lists them.

use std::fmt::Write;

use rankscope_formats::Scope;
use rankscope_job::{Analysed, JobTable, Parts, Rules};

use crate::bench::{judged, part, place, trace};

/// A row of the sheet.
struct Told {
    elements: u64,
    /// Start, from one instant on, and duration of each rank.
    stays_ns: [(i64, i64); 8],
    latency_us: f64,
    start_skew_us: f64,
    wait_us: f64,
    end_skew_us: f64,
    algbw_gib: f64,
    busbw_gib: f64,
    first: u32,
}

const TOLD: [Told; 6] = [
    Told {
        elements: 2873320,
        stays_ns: [
            (46142983, 4163236),
            (46162929, 4142371),
            (46097131, 4207936),
            (46164569, 4140687),
            (46115570, 4190943),
            (46215784, 4092677),
            (46153728, 4153306),
            (46151898, 4153440),
        ],
        latency_us: 4092.677,
        start_skew_us: 118.6533203125,
        wait_us: 65.210205078125,
        end_skew_us: 3.39404296875,
        algbw_gib: 1.30769556458726,
        busbw_gib: 2.288467238027705,
        first: 2,
    },
    Told {
        elements: 8816192,
        stays_ns: [
            (50324058, 5402802),
            (50323079, 5405019),
            (50323003, 5403742),
            (50323242, 5405154),
            (50324192, 5404627),
            (50327504, 5399419),
            (50325170, 5401962),
            (50323341, 5404435),
        ],
        latency_us: 5399.419,
        start_skew_us: 4.5009765625,
        wait_us: 3.3052978515625,
        end_skew_us: 2.07373046875,
        algbw_gib: 3.041334125669589,
        busbw_gib: 5.322334719921781,
        first: 2,
    },
    Told {
        elements: 2873320,
        stays_ns: [
            (58732829, 4224811),
            (58788834, 4171152),
            (58841403, 4114735),
            (58768839, 4187208),
            (58797034, 4161104),
            (58959517, 3997380),
            (58822817, 4132957),
            (58827847, 4129458),
        ],
        latency_us: 3997.38,
        start_skew_us: 226.68798828125,
        wait_us: 142.1270751953125,
        end_skew_us: 4.2119140625,
        algbw_gib: 1.338870850454121,
        busbw_gib: 2.343023988294711,
        first: 0,
    },
    Told {
        elements: 8816192,
        stays_ns: [
            (62976093, 5640559),
            (62978440, 5637771),
            (62974495, 5644014),
            (62974369, 5642787),
            (62976436, 5641926),
            (62976095, 5641133),
            (62974147, 5642322),
            (62975862, 5641609),
        ],
        latency_us: 5637.771,
        start_skew_us: 4.29296875,
        wait_us: 2.69781494140625,
        end_skew_us: 2.29833984375,
        algbw_gib: 2.912753509053271,
        busbw_gib: 5.097318640843225,
        first: 6,
    },
    Told {
        elements: 2873320,
        stays_ns: [
            (71821685, 4085542),
            (71772594, 4137454),
            (71759498, 4148946),
            (71758214, 4150798),
            (71815094, 4092683),
            (71879456, 4029619),
            (71759401, 4148000),
            (71803726, 4104866),
        ],
        latency_us: 4029.619,
        start_skew_us: 121.2421875,
        wait_us: 83.24749755859375,
        end_skew_us: 2.8212890625,
        algbw_gib: 1.328159203187272,
        busbw_gib: 2.324278605577727,
        first: 3,
    },
    Told {
        elements: 8816192,
        stays_ns: [
            (75928811, 5299880),
            (75931321, 5296507),
            (75929531, 5296211),
            (75930488, 5296816),
            (75929112, 5296977),
            (75931425, 5295487),
            (75928634, 5296732),
            (75930066, 5297080),
        ],
        latency_us: 5295.487,
        start_skew_us: 2.791015625,
        wait_us: 1.50146484375,
        end_skew_us: 3.3251953125,
        algbw_gib: 3.101024941329999,
        busbw_gib: 5.426793647327497,
        first: 6,
    },
];

/// Elements; mean, median, least and most latency in us, and of bus bandwidth in GiB/s; total latency in ms.
const SUMMARY: [(u64, [f64; 4], [f64; 4], f64); 2] = [
    (
        8816192,
        [5444.225666666666, 5399.419, 5295.487, 5637.771],
        [5.282149002697501, 5.322334719921781, 5.097318640843225, 5.426793647327497],
        16.332677,
    ),
    (
        2873320,
        [4039.892, 4029.619, 3997.38, 4092.677],
        [2.318589943966714, 2.324278605577727, 2.288467238027705, 2.343023988294711],
        12.119676,
    ),
];

/// Rank, total wait in us (rounded to a tenth), times last, times first.
const STRAGGLERS: [(u32, f64, u64, u64); 8] = [
    (5, 2.3, 5, 0),
    (7, 279.4, 0, 0),
    (6, 328.2, 0, 2),
    (4, 334.7, 0, 0),
    (1, 334.9, 1, 0),
    (0, 365.7, 0, 1),
    (2, 367.1, 0, 2),
    (3, 372.4, 0, 1),
];

/// Bytes in GiB.
const GIB: f64 = 1.073_741_824;

fn file(rank: usize) -> Vec<u8> {
    let mut text = format!(
        r#"{{"schemaVersion": 1, "distributedInfo": {{"rank": {rank}, "world_size": 8}}, "baseTimeNanoseconds": 1700000000000000000,
        "traceEvents": ["#
    );
    for (at, told) in TOLD.iter().enumerate() {
        let (start_ns, dur_ns) = told.stays_ns[rank];
        let us = |ns: i64| format!("{}.{:03}", ns / 1_000, ns % 1_000);
        write!(
            text,
            r#"{}{{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic_4(x)", "pid": 0, "tid": 4, "ts": {}, "dur": {},
            "args": {{"device": 0, "stream": 4, "Collective name": "allreduce", "In msg nelems": {elements}, "Out msg nelems": {elements},
            "Group size": 8, "dtype": "BFloat16", "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"}}}}"#,
            if at == 0 { "" } else { "," },
            us(start_ns),
            us(dur_ns),
            elements = told.elements,
        )
        .expect("text grows");
    }
    text.push_str("]}");
    text.into_bytes()
}

fn same(ours: Option<f64>, theirs: f64, within: f64, what: &str) {
    let ours = ours.expect("a figure");
    assert!((ours - theirs).abs() <= within, "{what}: {ours} and {theirs}");
}

#[test]
fn what_tracelens_tells_of_a_job_whose_clocks_are_equal_is_told_here() {
    let mut parts = Parts::new(Rules::default());
    for rank in 0..8 {
        let trace = trace(&format!("rank{rank}.json"), file(rank), Scope::All);
        parts.add(place(rank), part(trace)).expect("one part a place");
    }
    let analysed = Analysed::of(judged(parts), None).expect("no step is asked for");
    let tables = analysed.collective_tables(&JobTable::ALL).expect("they were asked for");
    let instances = tables.nccl_implicit_sync.expect("the table");
    assert_eq!(instances.len(), TOLD.len());
    // Its stamps are floats of microseconds, which step by half a nanosecond, and more in sums.
    for (row, told) in instances.iter().zip(&TOLD) {
        assert_eq!((row.in_elements, row.first_rank, row.matched), (Some(told.elements), Some(told.first), true));
        same(row.transfer_ns.map(|ns| ns as f64), told.latency_us * 1e3, 1e-3, "latency");
        same(row.start_skew_ns.map(|ns| ns as f64), told.start_skew_us * 1e3, 1.0, "skew of starts");
        same(row.end_skew_ns.map(|ns| ns as f64), told.end_skew_us * 1e3, 1.0, "skew of ends");
        same(row.wait_mean_ns, told.wait_us * 1e3, 1.0, "wait");
        same(row.algbw_gbps, told.algbw_gib * GIB, 1e-12, "algorithm bandwidth");
        same(row.busbw_gbps, told.busbw_gib * GIB, 1e-12, "bus bandwidth");
    }
    let summary = tables.nccl_summary_implicit_sync.expect("the table");
    for (elements, latency, busbw, total_ms) in SUMMARY {
        let row = summary.iter().find(|row| row.in_elements == Some(elements)).expect("both sizes");
        let [min, max] = [row.transfer_min_ns, row.transfer_max_ns].map(|ns| ns.map(|ns| ns as f64));
        for (ours, theirs) in [row.transfer_mean_ns, row.transfer_median_ns, min, max].into_iter().zip(latency) {
            same(ours, theirs * 1e3, 1e-3, "latency");
        }
        let ours = [row.busbw_mean_gbps, row.busbw_median_gbps, row.busbw_min_gbps, row.busbw_max_gbps];
        ours.into_iter().zip(busbw).for_each(|(ours, theirs)| same(ours, theirs * GIB, 1e-12, "bus bandwidth"));
        same(Some(row.total_transfer_ns as f64), total_ms * 1e6, 1e-3, "total");
    }
    let stragglers = tables.straggler_summary.expect("the table");
    for (rank, wait_us, last, first) in STRAGGLERS {
        let row = stragglers.iter().find(|row| row.rank == rank).expect("every rank");
        assert_eq!((row.last, row.first, row.arrivals), (last, first, 6), "rank {rank}");
        same(Some(row.total_wait_ns as f64), wait_us * 1e3, 60.0, "wait");
    }
}
