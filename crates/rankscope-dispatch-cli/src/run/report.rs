//! What an execution took, as a table and as JSON.

use std::time::Duration;

use rankscope_cli::output;
use rankscope_dispatch::movement::ElementType;
use rankscope_report::{bytes, columns, duration, rate};
use rankscope_transport::execute::{Difference, Outcome, Timing, Trial};
use serde::Serialize;

use super::{Backend, Mode};

#[derive(Serialize)]
pub(super) struct Report {
    backend: &'static str,
    mode: &'static str,
    ranks: u32,
    dtype: &'static str,
    repeat: u32,
    /// Whether every byte of every repetition was what the simulator says.
    identical: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_difference: Option<Differing>,
    exchanges: Vec<Exchange>,
}

#[derive(Serialize)]
struct Exchange {
    exchange: &'static str,
    messages: u64,
    remote_bytes: u64,
    kept_bytes: u64,
    /// Of the slowest rank, in the median repetition.
    seconds: f64,
    fastest_seconds: f64,
    /// Between ranks, in the median repetition.
    bytes_per_second: f64,
    pack_seconds: f64,
    unpack_seconds: f64,
    /// What ranks keep, in the median repetition; nothing where the backend does not tell it apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_bytes_per_second: Option<f64>,
}

#[derive(Serialize)]
struct Differing {
    rank: u32,
    tensor: &'static str,
    row: u64,
    offset: u64,
    expected: Option<u8>,
    actual: Option<u8>,
    text: String,
}

impl Report {
    pub(super) fn new(
        backend: Backend,
        mode: Mode,
        trial: &Trial,
        element: ElementType,
        outcome: &Result<Vec<Outcome>, Difference>,
    ) -> Self {
        Self {
            backend: backend.as_str(),
            mode: mode.as_str(),
            ranks: trial.world_size(),
            dtype: element.as_str(),
            repeat: trial.repeat(),
            identical: outcome.is_ok(),
            first_difference: outcome.as_ref().err().map(Differing::from),
            exchanges: outcome.iter().flatten().map(Exchange::from).collect(),
        }
    }

    pub(super) fn table(&self) -> String {
        let Self { backend, mode, ranks, dtype, repeat, .. } = self;
        let mut text = format!("{ranks} ranks as {backend}, by {mode}, {dtype}, every exchange {repeat} times\n\n");
        if let Some(difference) = &self.first_difference {
            text += &format!("different: {}\n", difference.text);
            return text;
        }
        let row = |row: &Exchange| {
            let sizes = [bytes(row.remote_bytes), bytes(row.kept_bytes)];
            let [median, fastest, pack, unpack] =
                [row.seconds, row.fastest_seconds, row.pack_seconds, row.unpack_seconds].map(|seconds| duration(seconds * 1e9));
            let rate = rate(row.bytes_per_second / 1e9);
            let head = [row.exchange.to_owned(), row.messages.to_string()];
            head.into_iter().chain(sizes).chain([median, fastest, rate, pack, unpack]).collect()
        };
        let head = ["exchange", "messages", "between ranks", "kept", "median", "fastest", "rate", "pack", "unpack"];
        let style = output::style();
        text += &columns(&head, self.exchanges.iter().map(row).collect(), style);
        let kept = |row: &Exchange| {
            let seconds = row.kept_seconds?;
            let speed = rate(row.kept_bytes_per_second? / 1e9);
            Some(vec![row.exchange.to_owned(), bytes(row.kept_bytes), duration(seconds * 1e9), speed])
        };
        let kept: Vec<_> = self.exchanges.iter().filter_map(kept).collect();
        if !kept.is_empty() {
            text += "\nwhat ranks keep crosses nothing and goes through no buffer\n\n";
            text += &columns(&["exchange", "kept", "median", "rate"], kept, style);
        }
        text += "\nevery byte is what the simulator says\n";
        text
    }
}

impl From<&Outcome> for Exchange {
    fn from(outcome: &Outcome) -> Self {
        let seconds = outcome.median(|timing| timing.exchange).as_secs_f64();
        let middle = |part: fn(&Timing) -> Duration| outcome.median(part).as_secs_f64();
        let kept_seconds = Some(middle(|timing| timing.keep)).filter(|seconds| *seconds > 0.0 && outcome.kept_bytes > 0);
        Self {
            exchange: outcome.direction.as_str(),
            messages: outcome.messages,
            remote_bytes: outcome.remote_bytes,
            kept_bytes: outcome.kept_bytes,
            seconds,
            fastest_seconds: outcome.fastest(|timing| timing.exchange).as_secs_f64(),
            bytes_per_second: if seconds > 0.0 { outcome.remote_bytes as f64 / seconds } else { 0.0 },
            pack_seconds: middle(|timing| timing.pack),
            unpack_seconds: middle(|timing| timing.unpack),
            kept_seconds,
            kept_bytes_per_second: kept_seconds.map(|seconds| outcome.kept_bytes as f64 / seconds),
        }
    }
}

impl From<&Difference> for Differing {
    fn from(difference: &Difference) -> Self {
        let Difference { rank, tensor, row, offset, expected, actual } = *difference;
        Self { rank: rank.0, tensor: tensor.as_str(), row, offset, expected, actual, text: difference.to_string() }
    }
}
