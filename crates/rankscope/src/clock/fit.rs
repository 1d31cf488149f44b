//! `rankscope clock fit`: a raw probe log in; offset, skew and guaranteed bounds per window out.

use crate::exit::ExitCode;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use rankscope_clock::fit::{Estimator, FitOptions};
use rankscope_clock::fit_log::{FittedWindow, StepEvent, fit_log};
use rankscope_clock::probe_log::{self, ProbeLog};
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
    let options = FitOptions::usual(estimator).with_skew_change_ppb_per_s(args.skew_change_ppb);
    let entries = fit_log(log.exchanges, args.window, &options);
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

#[derive(Debug, Serialize)]
struct Document {
    windows: Vec<FittedWindow>,
}

fn table(entries: &[FittedWindow]) -> String {
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
            remarks(entry),
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

fn remarks(entry: &FittedWindow) -> String {
    let mut remarks: Vec<String> = entry.reason.clone().into_iter().collect();
    if entry.degraded {
        remarks.push("degraded: timestamps contradict each other".to_owned());
    }
    remarks.extend(entry.step_events.iter().map(|event| match event {
        StepEvent::Step { size_ns, .. } => {
            format!("began with a step of {}{} ns", if *size_ns < 0 { "-" } else { "+" }, grouped(*size_ns))
        }
        StepEvent::RateChange { rate_change_ppb, .. } => format!("began with a rate change of {rate_change_ppb:+.0} ppb"),
    }));
    remarks.join("; ")
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
