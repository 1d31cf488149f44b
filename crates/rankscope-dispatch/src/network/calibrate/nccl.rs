//! What nccl-tests prints: comments with `#`, among them the devices and the heads of the columns, and a row a size:
//!
//! ```text
//! #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
//! #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
//!     67108864       1048576     float     sum      -1    246.0  272.80  477.40      0    245.1  273.80  479.15      0
//! ```
//!
//! Which columns lie between size and time differs between operations and releases, so times are counted from the right: a group
//! of four for out-of-place, another for in-place. Of the two the faster is taken: both did the same work.

use std::collections::BTreeSet;

use super::sample::{micros, size};
use super::{Operation, Sample, Samples};
use crate::Error;

/// Columns of one group: time, algorithm bandwidth, bus bandwidth, wrong elements.
const GROUP: usize = 4;

pub(super) fn read(text: &str, operation: Option<Operation>, ranks: Option<u32>) -> Result<Samples, Error> {
    let mut head = Head { operation, ..Head::default() };
    let mut rows = Vec::new();
    for (at, line) in text.lines().enumerate() {
        // Launchers put a tag before every line: `[1,0]<stdout>:`.
        let line = line.split_once("<stdout>:").map_or(line, |(_, rest)| rest).trim();
        if line.starts_with(|first: char| first.is_ascii_digit()) && head.groups > 0 {
            rows.push(Row::of(line, at + 1, head.groups)?);
        } else {
            head.take(line);
        }
    }
    let ranks = ranks.or((head.ranks > 0).then_some(head.ranks)).ok_or(Error::UnknownBenchmark {
        what: "it does not say how many ranks took part; its lines `#  Rank  0 ...` are missing. Give --benchmark-ranks",
    })?;
    let operation = head.operation.or_else(|| by_bandwidth(&rows, ranks)).ok_or(Error::UnknownBenchmark {
        what: "it does not name the operation. Give --operation all_reduce, all_gather, reduce_scatter, all_to_all or send_receive",
    })?;
    let sample = |row: &Row| -> Sample { operation.sample(row.line, ranks, row.size, row.time) };
    let hosts = u32::try_from(head.hosts.len()).ok().filter(|hosts| *hosts > 0);
    // A buffer too small for all ranks is printed as size 0.
    let rows = rows.iter().filter(|row| row.size > 0).map(sample).collect();
    Ok(Samples { operation, ranks, hosts, rows })
}

/// What the lines around the rows say.
#[derive(Debug, Default)]
struct Head<'a> {
    operation: Option<Operation>,
    ranks: u32,
    hosts: BTreeSet<&'a str>,
    /// Groups of columns of a row; none before the heads of the columns came.
    groups: usize,
}

impl<'a> Head<'a> {
    fn take(&mut self, line: &'a str) {
        let words: Vec<&str> = line.trim_start_matches('#').split_whitespace().collect();
        match words.as_slice() {
            ["Rank", _, rest @ ..] => {
                self.ranks = self.ranks.saturating_add(1);
                let host = rest.iter().position(|word| *word == "on").and_then(|at| rest.get(at + 1));
                self.hosts.extend(host.copied());
            }
            ["size", "count", ..] => self.groups = words.iter().filter(|word| **word == "time").count(),
            // The command line, or "Collective test starting: all_reduce_perf".
            _ if self.operation.is_none() => {
                let name = words.iter().find(|word| word.ends_with("_perf"));
                self.operation = name.and_then(|name| Operation::of_name(name));
            }
            _ => {}
        }
    }
}

#[derive(Debug)]
struct Row {
    line: usize,
    size: u64,
    time: rankscope_time::Span,
    /// Bus bandwidth over algorithm bandwidth, as printed.
    share: Option<f64>,
}

impl Row {
    fn of(text: &str, line: usize, groups: usize) -> Result<Self, Error> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let first = words.len().checked_sub(groups * GROUP).filter(|first| *first >= 1);
        let Some(first) = first else {
            let what =
                format!("a row with {} columns, where the head has {groups} groups of {GROUP} after the size", words.len());
            return Err(Error::BadBenchmark { line, what });
        };
        let mut time = micros(words[first], line)?;
        for group in words[first..].chunks_exact(GROUP).skip(1) {
            time = time.min(micros(group[0], line)?);
        }
        let number = |at: usize| words[at].parse::<f64>().ok().filter(|rate| *rate >= 1.0);
        let share = number(first + 1).zip(number(first + 2)).map(|(algorithm, bus)| bus / algorithm);
        Ok(Self { line, size: size(words[0], line)?, time, share })
    }
}

/// The operation that the printed bandwidths belong to, where only one can be. An all-gather, a reduce-scatter and an all-to-all
/// load a port alike, so the first stands for all three.
fn by_bandwidth(rows: &[Row], ranks: u32) -> Option<Operation> {
    // The largest rows have the most digits.
    let share = rows.iter().rev().find_map(|row| row.share)?;
    let near = |operation: &Operation| (operation.port_share(ranks) / share - 1.0).abs() < 0.01;
    let mut likely = [Operation::AllReduce, Operation::AllGather, Operation::SendReceive].into_iter().filter(near);
    likely.next().filter(|_| likely.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# nThread 1 nGpus 1 minBytes 8 maxBytes 64\n# Using devices\n\
        #  Rank  0 Group  0 Pid 11 on  left device  0 [0x1a] NVIDIA H100\n\
        #  Rank  1 Group  0 Pid 12 on right device  0 [0x1a] NVIDIA H100\n";

    #[test]
    fn columns_of_old_and_new_releases_are_counted_from_the_right() -> Result<(), Error> {
        let new = "# Collective test starting: all_reduce_perf\n\
            # size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n\
            8388608 2097152 float sum -1 100.5 83.5 83.5 0 99.5 84.3 84.3 N/A\n";
        let old = "./build/alltoall_perf -b 8\n\
            # size count type redop time algbw busbw error time algbw busbw error\n\
            268435456 1048576 float 520935 0.52 0.51 0e+00 519562 0.52 0.51 1e+00\n# Avg bus bandwidth : 0.5\n";
        let new = read(&format!("{HEAD}{new}"), None, None)?;
        assert_eq!((new.operation, new.ranks, new.hosts), (Operation::AllReduce, 2, Some(2)));
        let [row] = new.rows.as_slice() else { panic!("one row, not {:?}", new.rows) };
        assert_eq!((row.place, row.size_bytes, row.time.as_nanos()), (7, 8_388_608, 99_500));
        assert_eq!((row.port_bytes, row.messages), (8_388_608.0, 2.0));
        let old = read(&format!("{HEAD}{old}"), None, None)?;
        assert_eq!((old.operation, old.rows[0].time.as_nanos()), (Operation::AllToAll, 519_562_000));
        Ok(())
    }

    #[test]
    fn an_operation_without_a_name_is_known_by_its_bandwidths() -> Result<(), Error> {
        let rows = "# size count type redop time algbw busbw error time algbw busbw error\n\
            8388608 2097152 float sum 100.5 83.50 146.12 0 99.5 84.3 147.53 0\n";
        assert_eq!(read(rows, None, Some(8))?.operation, Operation::AllReduce);
        // On two ranks an all-reduce is as fast as a send.
        assert!(matches!(read(rows, None, Some(2)), Err(Error::UnknownBenchmark { .. })));
        Ok(())
    }

    #[test]
    fn a_row_that_is_cut_is_named_by_its_line() {
        let text = format!("{HEAD}# size count type time algbw busbw #wrong time algbw busbw #wrong\n8388608 1 100.5 83\n");
        let refused = read(&text, Some(Operation::AllGather), None);
        assert!(matches!(refused, Err(Error::BadBenchmark { line: 6, .. })), "{refused:?}");
        let text = text.replace("8388608 1 100.5 83", "8388608 1 float nan 83 83 0 1 1 1 0");
        let refused = read(&text, Some(Operation::AllGather), None);
        assert!(matches!(refused, Err(Error::BadBenchmark { line: 6, .. })), "{refused:?}");
    }
}
