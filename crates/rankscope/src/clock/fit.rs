//! `rankscope clock fit`: a raw probe log in; offset, skew and guaranteed bounds per window out.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use rankscope_clock::fit::{Estimator, FitOptions, WindowFit, fit_window};
use rankscope_clock::probe_log::{self, ProbeLog};
use rankscope_clock::{ClockEvent, EdgeFit, Exchange, HostInstant, NoFit};
use rankscope_run::{SideFile, read_side, side_bytes};
use rankscope_time::Span;
use serde::Serialize;

use crate::output::{self, Format};

/// Fit the clock difference of two hosts to a raw probe log, window by window.
///
/// LOG is tab-separated, plain or .gz: seq, a_tx_ns, b_rx_ns, b_tx_ns, a_rx_ns; 0 marks a missing stamp, and two lines with the
/// same seq / 2 are one exchange. The offset is b minus a in the middle of the window, on a's clock; the bound contains it
/// whatever the network did, unless the window is marked degraded.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The probe log
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// Length of a window: 4s, 500ms, 250us, or a number of seconds
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = window)]
    window: Span,
    /// How the line is found
    #[arg(long, value_enum, default_value_t = EstimatorArg::Band)]
    estimator: EstimatorArg,
    /// How fast the skew between the clocks may change, in ppb per second; the bounds rest on it
    #[arg(long, value_name = "PPB", default_value_t = FitOptions::usual(Estimator::Band).skew_change_ppb_per_s)]
    skew_change_ppb: u32,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EstimatorArg {
    /// The widest band between the point clouds, exactly; robust where stamps contradict each other
    Band,
    /// Low quantiles instead of extremes, always
    Robust,
    /// A soft-margin support vector machine with C = 1, for comparison
    Svm,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let log = read(&args.log)?;
    let estimator = match args.estimator {
        EstimatorArg::Band => Estimator::Band,
        EstimatorArg::Robust => Estimator::Robust,
        EstimatorArg::Svm => Estimator::Svm,
    };
    let options = FitOptions { skew_change_ppb_per_s: args.skew_change_ppb, ..FitOptions::usual(estimator) };
    let entries = fit(log.exchanges, args.window, &options);
    if entries.is_empty() {
        bail!("{}: no line has a timestamp of a, so nothing can be placed on its clock", args.log.display());
    }
    let text = match args.format {
        Format::Json => serde_json::to_string_pretty(&Document { windows: entries })?,
        Format::Table => table(&entries),
    };
    output::answer(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// How many damaged lines are named before the rest is only counted.
const PROBLEMS_NAMED: usize = 5;

fn read(path: &Path) -> Result<ProbeLog> {
    let name = path.display();
    let text = inflated(path, read_side(path, SideFile::Clock)?)?;
    let log = probe_log::parse(&text);
    if log.exchanges.is_empty() {
        let first = log.problems.first().map_or_else(|| "the file is empty".to_owned(), ToString::to_string);
        bail!("{name}: {first}; a probe log has five columns, tab-separated: seq a_tx_ns b_rx_ns b_tx_ns a_rx_ns");
    }
    for problem in log.problems.iter().take(PROBLEMS_NAMED) {
        output::remark(&format!("{name}: {problem}"));
    }
    if log.problems.len() > PROBLEMS_NAMED {
        output::remark(&format!("{name}: {} more damaged lines", log.problems.len() - PROBLEMS_NAMED));
    }
    Ok(log)
}

/// The two bytes that gzip begins with tell more than a suffix.
fn inflated(path: &Path, raw: Vec<u8>) -> Result<Vec<u8>> {
    if !raw.starts_with(&[0x1f, 0x8b]) {
        return Ok(raw);
    }
    let text = side_bytes(path, flate2::read::MultiGzDecoder::new(raw.as_slice()), SideFile::Clock);
    text.map_err(|error| match error {
        rankscope_run::Error::Io { path, .. } => anyhow!("{}: damaged gzip; copy the file again", path.display()),
        other => other.into(),
    })
}

fn window(text: &str) -> Result<Span, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit_ns = match &text[digits.len()..] {
        "" | "s" => 1e9,
        "ms" => 1e6,
        "us" => 1e3,
        unit => return Err(format!("unknown unit `{unit}`; use s, ms or us")),
    };
    let number: f64 = digits.parse().map_err(|_| "expected a time such as 4s, 500ms or 2".to_owned())?;
    let ns = number * unit_ns;
    if !(1e3..=3.6e12).contains(&ns) {
        return Err("a window must be between 1 us and 1 hour long".to_owned());
    }
    Ok(Span::from_nanos(ns.round() as i64))
}

fn fit(exchanges: Vec<Exchange>, window: Span, options: &FitOptions) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut before: Option<EdgeFit> = None;
    for window in probe_log::cut(exchanges, window) {
        let found = fit_window(&window, before.as_ref(), options);
        entries.extend(self::entries(&window, &found));
        before = found.fits.into_iter().flatten().last().or(before);
    }
    entries
}

#[derive(Debug, Serialize)]
struct Document {
    windows: Vec<Entry>,
}

/// One line, or why there is none. What is not known is null, never 0.
#[derive(Debug, Default, Serialize)]
struct Entry {
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    mid_ns: Option<i64>,
    offset_ns: Option<i64>,
    skew_ppb: Option<f64>,
    bound_lo_ns: Option<i64>,
    bound_hi_ns: Option<i64>,
    rtt_min_ns: Option<i64>,
    points_forward: Option<u32>,
    points_reverse: Option<u32>,
    degraded: bool,
    steps: usize,
    step_events: Vec<Event>,
    sigma_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Event {
    Step { at_ns: i64, size_ns: i64 },
    RateChange { at_ns: i64, rate_change_ppb: f64 },
}

fn entries(window: &[Exchange], found: &WindowFit) -> impl Iterator<Item = Entry> {
    let whole = (found.fits.len() == 1).then(|| span(window)).flatten();
    found.parts().map(move |(fit, event)| {
        let step_events: Vec<Event> = event.map(Event::from).into_iter().collect();
        match fit {
            Ok(fit) => Entry { steps: step_events.len(), step_events, ..Entry::from(fit) },
            Err(reason) => Entry {
                start_ns: whole.map(|(start, _)| start),
                end_ns: whole.map(|(_, end)| end),
                mid_ns: whole.map(|(start, end)| start + (end - start) / 2),
                reason: Some(explain(*reason)),
                ..Entry::default()
            },
        }
    })
}

/// First and last stamp of `a`.
fn span(window: &[Exchange]) -> Option<(i64, i64)> {
    let sent = window.iter().flat_map(|exchange| &exchange.forward).filter_map(|passage| passage.sent);
    let received = window.iter().flat_map(|exchange| &exchange.reverse).filter_map(|passage| passage.received);
    let stamps = || sent.clone().chain(received.clone()).map(HostInstant::nanos_since_epoch);
    Some((stamps().min()?, stamps().max()?))
}

fn explain(reason: NoFit) -> String {
    match reason {
        NoFit::TooFewExchanges(count) => format!("{count} complete exchanges are too few for a line"),
        NoFit::OneDirection => "packets in one direction only: the offset is bounded on one side only".to_owned(),
        NoFit::Contradiction => "no line fits, even after dropping outliers and splitting the window".to_owned(),
    }
}

impl From<&EdgeFit> for Entry {
    fn from(fit: &EdgeFit) -> Self {
        Self {
            start_ns: Some(fit.start.nanos_since_epoch()),
            end_ns: Some(fit.end.nanos_since_epoch()),
            mid_ns: Some(fit.mid.nanos_since_epoch()),
            offset_ns: Some(fit.offset.as_nanos()),
            skew_ppb: Some(fit.skew_ppb),
            bound_lo_ns: Some(fit.bound.lo.as_nanos()),
            bound_hi_ns: Some(fit.bound.hi.as_nanos()),
            rtt_min_ns: Some(fit.rtt_min.as_nanos()),
            points_forward: Some(fit.points_forward),
            points_reverse: Some(fit.points_reverse),
            degraded: fit.degraded,
            sigma_ns: Some(fit.sigma_ns),
            ..Self::default()
        }
    }
}

impl From<&ClockEvent> for Event {
    fn from(event: &ClockEvent) -> Self {
        match *event {
            ClockEvent::Step { at, size } => Self::Step { at_ns: at.nanos_since_epoch(), size_ns: size.as_nanos() },
            ClockEvent::RateChange { at, by_ppb } => {
                Self::RateChange { at_ns: at.nanos_since_epoch(), rate_change_ppb: by_ppb }
            }
        }
    }
}

fn table(entries: &[Entry]) -> String {
    let first_ns = entries.iter().find_map(|entry| entry.start_ns).unwrap_or(0);
    let mut text = format!(
        "{:>9} {:>8}  {:>22} {:>12} {:>12} {:>10} {:>12}  {}\n",
        "start s", "length s", "offset ns", "bound ± ns", "skew ppb", "rtt ns", "points", "remarks"
    );
    for entry in entries {
        let seconds = |ns: i64| format!("{:.3}", ns as f64 / 1e9);
        let start = entry.start_ns.map(|ns| seconds(ns - first_ns));
        let length = entry.start_ns.zip(entry.end_ns).map(|(start, end)| seconds(end - start));
        let points = entry.points_forward.zip(entry.points_reverse).map(|(there, back)| format!("{there}/{back}"));
        let row = [
            format!("{:>9}", or_dash(start)),
            format!("{:>8} ", or_dash(length)),
            format!("{:>22}", or_dash(entry.offset_ns.map(|ns| format!("{}{}", if ns < 0 { "-" } else { "+" }, grouped(ns))))),
            format!("{:>12}", or_dash(entry.half_width_ns().map(grouped))),
            format!("{:>12}", or_dash(entry.skew_ppb.map(|ppb| format!("{ppb:+.1}")))),
            format!("{:>10}", or_dash(entry.rtt_min_ns.map(grouped))),
            format!("{:>12} ", or_dash(points)),
            entry.remarks(),
        ];
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", row.join(" ").trim_end());
    }
    text
}

fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "-".to_owned())
}

/// The digits of a number without its sign, in groups of three.
fn grouped(ns: i64) -> String {
    let digits = ns.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

impl Entry {
    /// The further of the bound's ends from the offset.
    fn half_width_ns(&self) -> Option<i64> {
        let offset_ns = self.offset_ns?;
        Some((self.bound_hi_ns? - offset_ns).max(offset_ns - self.bound_lo_ns?))
    }

    fn remarks(&self) -> String {
        let mut remarks: Vec<String> = self.reason.clone().into_iter().collect();
        if self.degraded {
            remarks.push("degraded: timestamps contradict each other".to_owned());
        }
        remarks.extend(self.step_events.iter().map(|event| match event {
            Event::Step { size_ns, .. } => {
                format!("began with a step of {}{} ns", if *size_ns < 0 { "-" } else { "+" }, grouped(*size_ns))
            }
            Event::RateChange { rate_change_ppb, .. } => format!("began with a rate change of {rate_change_ppb:+.0} ppb"),
        }));
        remarks.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_units() {
        let ns = |text| window(text).map(Span::as_nanos);
        assert_eq!(ns("4s"), Ok(4_000_000_000));
        assert_eq!(ns("500ms"), Ok(500_000_000));
        assert_eq!(ns("2"), Ok(2_000_000_000));
        assert_eq!(ns("0.5"), Ok(500_000_000));
        for wrong in ["", "s", "4h", "0", "-4s", "nan", "1e99"] {
            assert!(ns(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn digits_come_in_groups() {
        assert_eq!(grouped(-1_234_567), "1 234 567");
        assert_eq!(grouped(12), "12");
        assert_eq!(grouped(i64::MIN), "9 223 372 036 854 775 808");
    }
}
