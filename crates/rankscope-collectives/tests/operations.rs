//! What collectives do is kept once for all that do the same.

use std::io::Cursor;

use rankscope_collectives::{CommPatterns, Kind, element_bytes, extract};
use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_testkit::{Job, Metadata, Need, given};
use rankscope_time::Rank;

#[test]
fn collectives_that_do_the_same_share_what_they_do() {
    let job = Job { ranks: 1, steps: 4, layers: 3, metadata: Metadata::ArgsAndSeq, ..Job::default() };
    let options = ReadOptions::default().with_args(ArgsPolicy::Analysis);
    let trace = read(Cursor::new(job.rank_bytes(0, &Default::default())), &options).unwrap().remove(0).trace.unwrap();
    let found = extract(Rank(0), &trace, &CommPatterns::default());
    let mut operations: Vec<_> = found.collectives.iter().map(|of| std::sync::Arc::as_ptr(of.operation)).collect();
    operations.sort_unstable();
    operations.dedup();
    let mut told: Vec<String> = found.collectives.iter().map(|of| format!("{:?}", of.operation)).collect();
    told.sort_unstable();
    told.dedup();
    assert_eq!(operations.len(), told.len());
    assert!(told.len() * 4 <= found.collectives.len());
}

/// Bytes of a MiB, in which TraceLens tells sizes; and a GiB a second in 1e9 bytes a second.
const MIB: f64 = 1_048_576.0;
const GIB: f64 = 1.073_741_824;

#[test]
fn bandwidths_of_a_real_job_follow_from_its_latencies() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let path = corpus.join("expected/llama70b_fsdp_golden/nccl_summary_implicit_sync.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut rows = 0;
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |name: &str| cells[columns.iter().position(|column| *column == name).unwrap()];
        let number = |name: &str| cell(name).parse::<f64>().unwrap();
        let kind = Kind::of_name(cell("Collective name"));
        let ranks: u32 = cell("Group size").parse().unwrap();
        let elements = kind.counted_elements(cell("In msg nelems").parse().ok(), None, ranks).unwrap();
        let bytes = (elements * element_bytes(cell("dtype")).unwrap()) as f64;
        assert!((bytes / (number("Full msg size (MB)") * MIB) - 1.0).abs() < 1e-9, "{line}");
        // The shortest is the fastest, and the other way round. What it calls GB/s is GiB/s.
        for (latency, bandwidth) in [("min", "max"), ("max", "min")] {
            let algbw = bytes / (number(&format!("comm_latency_{latency}")) * 1e3);
            assert!((algbw / (number(&format!("algo bw (GB/s)_{bandwidth}")) * GIB) - 1.0).abs() < 1e-9, "{line}");
            let busbw = algbw * kind.bus_factor(ranks);
            assert!((busbw / (number(&format!("bus bw (GB/s)_{bandwidth}")) * GIB) - 1.0).abs() < 1e-9, "{line}");
        }
        rows += 1;
    }
    assert!(rows >= 5, "{rows}");
}
