//! `rankscope clock fit`: a raw probe log in; offset, skew and guaranteed bounds per window out.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_clock::fit::{Estimator, FitOptions};
use rankscope_clock::fit_log::{FittedWindow, StepEvent};
use rankscope_clock::probe_log::LineProblem;
use rankscope_pipeline::{fit_probe_log, window_length};
use rankscope_time::Span;

/// Fit the clock difference of two hosts to a raw probe log, window by window.
///
/// LOG is tab-separated, plain or .gz: seq, a_tx_ns, b_rx_ns, b_tx_ns, a_rx_ns; 0 marks a missing stamp, and two lines with the
/// same seq / 2 are one exchange. The offset is b minus a in the middle of the window, on a's clock; the bound contains it
/// whatever the network did, unless the window is marked degraded. Smoothed is how far all windows together move the offset, and
/// one standard deviation of what is left.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The probe log
    #[arg(value_name = "LOG")]
    log: PathBuf,
    /// Length of a window: 4s, 500ms, 250us, or a number of seconds
    #[arg(long, value_name = "TIME", default_value = "4s", value_parser = window_length)]
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
    let estimator = match args.estimator {
        EstimatorArg::Band => Estimator::Band,
        EstimatorArg::Robust => Estimator::Robust,
        EstimatorArg::Svm => Estimator::Svm,
    };
    let options = FitOptions::usual(estimator).with_skew_change_ppb_per_s(args.skew_change_ppb);
    let fitted = fit_probe_log(&args.log, args.window, &options)?;
    say_problems(&args.log, &fitted.problems);
    let text = match args.format {
        Format::Json => serde_json::to_string_pretty(&fitted)?,
        Format::Table => table(&fitted.windows),
    };
    output::answer(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// How many damaged lines are named before the rest is only counted.
const PROBLEMS_NAMED: usize = 5;

fn say_problems(path: &Path, problems: &[LineProblem]) {
    let name = path.display();
    for problem in problems.iter().take(PROBLEMS_NAMED) {
        output::remark(&format!("{name}: {problem}"));
    }
    if problems.len() > PROBLEMS_NAMED {
        output::remark(&format!("{name}: {} more damaged lines", problems.len() - PROBLEMS_NAMED));
    }
}

fn table(entries: &[FittedWindow]) -> String {
    let first_ns = entries.iter().find_map(|entry| entry.start_ns).unwrap_or(0);
    let mut text = format!(
        "{:>9} {:>8}  {:>22} {:>12} {:>12} {:>12} {:>10} {:>12}  {}\n",
        "start s", "length s", "offset ns", "bound ± ns", "smoothed ns", "skew ppb", "rtt ns", "points", "remarks"
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
            format!("{:>12}", or_dash(smoothed(entry))),
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

/// What smoothing moves the offset by, and how far off it is likely to be then.
fn smoothed(entry: &FittedWindow) -> Option<String> {
    let moved_ns = entry.smoothed_ns?.saturating_sub(entry.offset_ns?);
    Some(format!("{moved_ns:+} ±{:.0}", entry.smoothed_sigma_ns?))
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
    fn digits_come_in_groups() {
        assert_eq!(grouped(-1_234_567), "1 234 567");
        assert_eq!(grouped(12), "12");
        assert_eq!(grouped(i64::MIN), "9 223 372 036 854 775 808");
    }
}
