//! What the OSU micro-benchmarks print: a title, the heads of the columns, and a size and a figure a row.
//!
//! ```text
//! # OSU MPI All-to-Allv Personalized Exchange Latency Test v7.3
//! # Size       Avg Latency(us)
//! 1048576               812.40
//! ```
//!
//! Sizes are those of one message (all-reduce: of the buffer), and the ranks are not told. `osu_bw` keeps many messages in flight,
//! so its rows say what a byte takes and nothing of a message's start.

use rankscope_time::Span;

use super::sample::{micros, size};
use super::{Operation, Sample, Samples};
use crate::Error;

/// Smaller messages are bound by their number, not by their bytes.
const BANDWIDTH_FROM_BYTES: u64 = 64 << 10;

/// What a title says.
#[derive(Debug)]
pub(super) struct Title {
    operation: Operation,
    bandwidth: bool,
}

/// Reads a line as the title of a known benchmark.
pub(super) fn title(line: &str) -> Option<Title> {
    let title = line.strip_prefix('#')?.trim().strip_prefix("OSU ")?;
    let bandwidth = title.contains("Bandwidth") && !title.contains("Bi-Directional");
    let operation = match bandwidth {
        true => Operation::SendReceive,
        // "Latency" stands in every title, so what else is there comes first.
        false => Operation::of_name(title)?,
    };
    Some(Title { operation, bandwidth })
}

pub(super) fn read(text: &str, title: &Title, ranks: Option<u32>) -> Result<Samples, Error> {
    let two = (title.operation == Operation::SendReceive).then_some(2);
    let ranks = two.or(ranks).ok_or(Error::UnknownBenchmark {
        what: "OSU benchmarks do not say how many ranks took part. Give --benchmark-ranks",
    })?;
    let rows = text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with(|first: char| first.is_ascii_digit()));
    let rows = rows.map(|(at, line)| row(line, at + 1, title, ranks)).collect::<Result<Vec<_>, _>>()?;
    let rows = rows.into_iter().flatten().collect();
    Ok(Samples { operation: title.operation, ranks, hosts: None, rows })
}

fn row(text: &str, line: usize, title: &Title, ranks: u32) -> Result<Option<Sample>, Error> {
    let mut words = text.split_whitespace();
    let (Some(first), Some(second)) = (words.next(), words.next()) else {
        return Err(Error::BadBenchmark { line, what: "a size without a figure behind it".to_owned() });
    };
    let bytes = size(first, line)?;
    if title.bandwidth {
        return bandwidth(bytes, second, line, title.operation);
    }
    let buffer = match title.operation {
        Operation::AllGather | Operation::AllToAll => bytes.saturating_mul(u64::from(ranks)),
        _ => bytes,
    };
    let sample = title.operation.sample(line, ranks, buffer, micros(second, line)?);
    Ok((bytes > 0).then_some(sample))
}

fn bandwidth(bytes: u64, word: &str, line: usize, operation: Operation) -> Result<Option<Sample>, Error> {
    let rate = word.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate > 0.0);
    let Some(megabytes_per_second) = rate else {
        return Err(Error::BadBenchmark { line, what: format!("`{word}` is not a bandwidth in MB/s") });
    };
    let time = Span::from_nanos((bytes as f64 * 1_000.0 / megabytes_per_second).round().max(1.0) as i64);
    let sample = operation.sample(line, 2, bytes, time);
    Ok((bytes >= BANDWIDTH_FROM_BYTES).then_some(Sample { messages: 0.0, started: false, ..sample }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, ranks: Option<u32>) -> Result<Samples, Error> {
        super::super::read(text, None, ranks)
    }

    #[test]
    fn an_exchange_sends_its_size_to_every_peer() -> Result<(), Error> {
        let text =
            "# OSU MPI All-to-Allv Personalized Exchange Latency Test v7.3\n# Size       Avg Latency(us)\n1048576   812.40\n";
        let samples = parse(text, Some(4))?;
        let row = samples.rows[0];
        assert_eq!((samples.operation, row.place, row.messages), (Operation::AllToAll, 3, 3.0));
        assert_eq!((row.port_bytes, row.time.as_nanos()), (3.0 * 1_048_576.0, 812_400));
        assert!(matches!(parse(text, None), Err(Error::UnknownBenchmark { .. })));
        Ok(())
    }

    #[test]
    fn bandwidth_says_nothing_of_a_start() -> Result<(), Error> {
        let text = "# OSU MPI-CUDA Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1   1.2\n4194304   24000.00\n";
        let samples = parse(text, None)?;
        let [row] = samples.rows.as_slice() else { panic!("one row, not {:?}", samples.rows) };
        assert_eq!((row.started, row.messages, row.time.as_nanos()), (false, 0.0, 174_763));
        let latency = parse("# OSU MPI Latency Test v7.0\n# Size          Latency (us)\n0  1.1\n8   1.2\n", None)?;
        assert_eq!((latency.rows.len(), latency.rows[0].messages), (1, 1.0));
        Ok(())
    }

    #[test]
    fn a_figure_that_is_none_is_named_by_its_line() {
        for (row, line) in [("8 -3", 3), ("8 inf", 3), ("8", 3), ("99999999999999999999 3", 3)] {
            let refused = parse(&format!("# OSU MPI Latency Test v7.0\n# Size Latency (us)\n{row}\n"), None);
            assert!(matches!(&refused, Err(Error::BadBenchmark { line: at, .. }) if *at == line), "{row}: {refused:?}");
        }
    }
}
