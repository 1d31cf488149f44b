//! `rankscope watch`: its arguments, and what is done with alarms. `rankscope-live` raises them.

mod exec;
mod metrics;
#[cfg_attr(not(feature = "otlp"), path = "watch/no_otlp.rs")]
mod otlp;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::ending::stop_switch;
use rankscope_cli::output::{self, Format};
use rankscope_document::LiveAlarm;
use rankscope_pipeline::{AlarmLog, LiveJob};
use rankscope_report::{LiveCounts, alarm_line};

use crate::pace::{PAUSE_MAX, Pace};
use exec::Hook;
use metrics::Metrics;
use otlp::Otlp;
pub(crate) use otlp::place as otlp_place;

/// Say when a rank of a running job becomes late, steps become slow, or nothing moves.
///
/// Reads the live pages that ranks keep in the run directory while they record themselves. An alarm needs two signs, or one that stays;
/// what is usual is learned from the first steps. Alarms go to standard output and to alarms.jsonl in the run directory, a line when one is
/// raised and one when it is over. Ends when no rank is left, or with Ctrl-C. Changes nothing about the job.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run directory
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Have the shell run this for each alarm and each end of one: its standard input is the line of alarms.jsonl, and RANKSCOPE_ALARM says it
    /// in a sentence
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,
    /// Serve figures for Prometheus, as http://ADDR:PORT/metrics
    #[arg(long, value_name = "ADDR:PORT")]
    metrics: Option<SocketAddr>,
    /// Write figures for Prometheus into this file at each look, as for the node exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    metrics_file: Option<PathBuf>,
    /// Push the same figures to a collector of OpenTelemetry, as http://HOST:4318, every ten seconds: OTLP over HTTP. `env` takes the address
    /// from OTEL_EXPORTER_OTLP_METRICS_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT. Headers, time-out, compression, interval and attributes are those of the
    /// other OTEL_ variables in any case
    #[arg(long, value_name = "URL", value_parser = otlp_place)]
    metrics_otlp: Option<String>,
    /// Between two looks
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = every)]
    every: Duration,
    /// How long to wait for a first rank, and for another once none is left
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = humantime::parse_duration)]
    wait: Duration,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let stop = stop_switch()?;
    let mut watcher = Watcher {
        job: LiveJob::new(&args.run),
        log: AlarmLog::open(&args.run)?,
        hook: args.exec.as_ref().map(|command| Hook::new(command)),
        metrics: Metrics::start(args.metrics, args.metrics_file.clone())?,
        otlp: args.metrics_otlp.as_ref().map(|place| Otlp::start(place, &args.run)).transpose()?,
        counts: LiveCounts::default(),
        format: args.format,
    };
    let ended = watcher.stay(args, &stop);
    if let Some(otlp) = watcher.otlp {
        otlp.end(&watcher.counts);
    }
    ended
}

fn no_pages(args: &Args) -> rankscope_pipeline::Error {
    rankscope_pipeline::Error::NoPages { path: args.run.clone() }
}

struct Watcher {
    job: LiveJob,
    log: AlarmLog,
    hook: Option<Hook>,
    metrics: Metrics,
    otlp: Option<Otlp>,
    counts: LiveCounts,
    format: Format,
}

impl Watcher {
    /// Watches until the job is over or somebody ends it.
    fn stay(&mut self, args: &Args, stop: &AtomicBool) -> Result<ExitCode> {
        self.tell(&self.log.left_behind())?;
        let (mut seen_at, mut has_seen) = (Instant::now(), false);
        let mut pace = Pace::of(args.every);
        while !stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            if self.look()? {
                (seen_at, has_seen) = (began, true);
            } else if seen_at.elapsed() >= args.wait {
                return if has_seen { Ok(ExitCode::SUCCESS) } else { Err(no_pages(args).into()) };
            }
            rest(pace.pause(), stop);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Looks once. Whether any rank lives: a job that was killed leaves pages behind, of which none does.
    fn look(&mut self) -> Result<bool> {
        let look = match self.job.look() {
            Err(rankscope_pipeline::Error::NoPages { .. }) => return Ok(false),
            looked => looked?,
        };
        self.tell(&look.news)?;
        self.counts.pushes_lost = self.otlp.as_ref().map_or(0, Otlp::lost);
        self.metrics.take(&look.document, &self.counts);
        let lives = !look.document.ranks.is_empty();
        if let Some(otlp) = &mut self.otlp {
            otlp.take(look.document, &self.counts);
        }
        Ok(lives)
    }

    /// Writes alarms down, passes them on and prints them.
    fn tell(&mut self, alarms: &[LiveAlarm]) -> Result<()> {
        for alarm in alarms {
            // Somebody is woken even if the disk is full.
            if let Err(error) = self.log.add(alarm) {
                output::remark(&format!("rankscope: an alarm could not be written down: {error:#}"));
            }
            self.counts.hear(alarm);
            if let Some(hook) = &mut self.hook
                && !hook.call(alarm)
            {
                self.counts.commands_left_out += 1;
            }
            output::answer(&self.said(alarm)?)?;
        }
        Ok(())
    }

    fn said(&self, alarm: &LiveAlarm) -> Result<String> {
        Ok(match self.format {
            Format::Json => serde_json::to_string(alarm)?,
            Format::Table => format!("{}  {}", instant(alarm.cleared_ns.unwrap_or(alarm.time_ns)), alarm_line(alarm)),
        })
    }
}

/// As people and programs read it.
fn instant(ns: i64) -> String {
    let since = Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// Sleeps, and wakes when somebody ends it.
fn rest(every: Duration, stop: &AtomicBool) {
    let until = Instant::now() + every;
    while !stop.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(Duration::from_millis(100)));
    }
}

/// Between two looks.
fn every(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    let is_usual = (EVERY_MIN..=PAUSE_MAX).contains(&duration);
    if is_usual {
        Ok(duration)
    } else {
        Err("give a time from 50ms to 10s: a hang is confirmed by looks so far apart".to_owned())
    }
}

const EVERY_MIN: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_as_dates() {
        assert_eq!(instant(1_795_000_000_000_000_000), "2026-11-18T11:06:40Z");
        assert_eq!(instant(-5), "1970-01-01T00:00:00Z");
    }

    #[test]
    fn looks_are_neither_too_many_nor_too_few() {
        assert!(every("1ms").is_err() && every("1h").is_err() && every("soon").is_err());
        assert_eq!(every("2s"), Ok(Duration::from_secs(2)));
    }
}
