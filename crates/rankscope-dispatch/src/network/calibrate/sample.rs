//! One measured transfer, in the terms of the model: what was timed, and what its sizes mean.

use rankscope_time::Span;

use crate::Error;

/// What one port did, and how long that took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Where it comes from: the line of a file, the index of a collective.
    pub place: usize,
    /// The whole buffer.
    pub size_bytes: u64,
    /// Bytes over the busiest port.
    pub port_bytes: f64,
    /// Messages through it, one after the other.
    pub messages: f64,
    /// Whether the operation's own start is in the time; not where many operations were in flight at once.
    pub started: bool,
    /// How long it took.
    pub time: Span,
}

/// The measurements of one run of one benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// What was measured.
    pub operation: Operation,
    /// Ranks that took part.
    pub ranks: u32,
    /// Hosts they ran on, where the benchmark names them.
    pub hosts: Option<u32>,
    /// Its rows.
    pub rows: Vec<Sample>,
}

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
