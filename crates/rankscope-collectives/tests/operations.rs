//! What collectives do is kept once for all that do the same.

use std::io::Cursor;

use rankscope_collectives::{CommPatterns, extract};
use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_testkit::{Job, Metadata};
use rankscope_time::Rank;

#[test]
fn collectives_that_do_the_same_share_what_they_do() {
    let job = Job { ranks: 1, steps: 4, layers: 3, metadata: Metadata::ArgsAndSeq, ..Job::default() };
    let options = ReadOptions::default().with_args(ArgsPolicy::Analysis);
    let trace = read(Cursor::new(job.rank_bytes(0, &Default::default())), &options).unwrap().remove(0).trace.unwrap();
    let found = extract(Rank(0), &trace, &CommPatterns::default());
    let mut operations: Vec<_> = found.collectives.iter().map(|of| std::sync::Arc::as_ptr(&of.operation)).collect();
    operations.sort_unstable();
    operations.dedup();
    let mut told: Vec<String> = found.collectives.iter().map(|of| format!("{:?}", of.operation)).collect();
    told.sort_unstable();
    told.dedup();
    assert_eq!(operations.len(), told.len());
    assert!(told.len() * 4 <= found.collectives.len());
}
