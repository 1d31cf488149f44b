//! Which benchmark wrote a file, and what its sizes mean.

use super::{Sample, Samples, nccl, osu};
use crate::Error;
use rankscope_time::Span;

/// What was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Everybody ends with the sum of all.
    AllReduce,
    /// Everybody ends with the parts of all.
    AllGather,
    /// Everybody ends with its part of the sum.
    ReduceScatter,
    /// Everybody sends a part to everybody.
    AllToAll,
    /// One to one, or each to its neighbour.
    SendReceive,
    /// One to all, or all to one, in a pipeline.
    Rooted,
}

impl Operation {
    /// What benchmarks and people call it: `all_gather_perf`, `alltoall`, `osu_latency`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let plain: String = name.chars().filter(char::is_ascii_alphabetic).map(|letter| letter.to_ascii_lowercase()).collect();
        const WORDS: [(&str, Operation); 10] = [
            ("reducescatter", Operation::ReduceScatter),
            ("allreduce", Operation::AllReduce),
            ("allgather", Operation::AllGather),
            ("alltoall", Operation::AllToAll),
            ("sendrecv", Operation::SendReceive),
            ("sendreceive", Operation::SendReceive),
            ("latency", Operation::SendReceive),
            ("broadcast", Operation::Rooted),
            ("bcast", Operation::Rooted),
            ("reduceperf", Operation::Rooted),
        ];
        WORDS.iter().find(|(word, _)| plain.contains(word)).map(|(_, operation)| *operation)
    }

    /// Its name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
            Self::SendReceive => "send_receive",
            Self::Rooted => "rooted",
        }
    }

    /// Bytes over a rank's port for one byte of the whole buffer: bus bandwidth over algorithm bandwidth, as nccl-tests has it.
    #[must_use]
    pub fn port_share(self, ranks: u32) -> f64 {
        let n = f64::from(ranks.max(1));
        match self {
            Self::AllReduce => 2.0 * (n - 1.0) / n,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => (n - 1.0) / n,
            Self::SendReceive | Self::Rooted => 1.0,
        }
    }

    /// Messages through a port, one after the other.
    #[must_use]
    pub fn messages(self, ranks: u32) -> f64 {
        let peers = f64::from(ranks.saturating_sub(1).max(1));
        match self {
            Self::AllReduce => 2.0 * peers,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => peers,
            Self::SendReceive | Self::Rooted => 1.0,
        }
    }

    /// One of these over `ranks` ranks, of a buffer of so many bytes: what comes out of an all-gather, what goes into the others.
    #[must_use]
    pub fn sample(self, place: usize, ranks: u32, buffer_bytes: u64, time: Span) -> Sample {
        let port_bytes = buffer_bytes as f64 * self.port_share(ranks);
        Sample { place, size_bytes: buffer_bytes, port_bytes, messages: self.messages(ranks), started: true, time }
    }
}

/// Reads what a benchmark printed. nccl-tests (and rccl-tests) and the OSU micro-benchmarks are known by their headers; what a
/// header does not tell (the operation in old nccl-tests, the ranks in OSU) may be given.
///
/// # Errors
/// [`Error::BadBenchmark`] with the line; [`Error::UnknownBenchmark`] says what is missing.
pub fn read(text: &str, operation: Option<Operation>, ranks: Option<u32>) -> Result<Samples, Error> {
    let samples = match text.lines().find_map(osu::title) {
        Some(title) => osu::read(text, &title, ranks)?,
        None => nccl::read(text, operation, ranks)?,
    };
    match samples.rows.is_empty() {
        true => Err(Error::UnknownBenchmark {
            what: "it has no row of sizes and times. Give the complete output of nccl-tests or an OSU benchmark, including the header",
        }),
        false => Ok(samples),
    }
}

/// A number of microseconds as printed. Anything but a positive time of less than a year is no measurement.
pub(super) fn micros(word: &str, line: usize) -> Result<Span, Error> {
    const YEAR_US: f64 = 365.0 * 86_400.0 * 1e6;
    match word.parse::<f64>() {
        Ok(micros) if micros > 0.0 && micros < YEAR_US => Ok(Span::from_nanos((micros * 1_000.0).round().max(1.0) as i64)),
        _ => Err(Error::BadBenchmark { line, what: format!("`{word}` is not a time in microseconds") }),
    }
}

pub(super) fn size(word: &str, line: usize) -> Result<u64, Error> {
    word.parse().map_err(|_| Error::BadBenchmark { line, what: format!("`{word}` is not a size in bytes") })
}
