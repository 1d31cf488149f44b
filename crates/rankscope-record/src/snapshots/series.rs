//! The series of readings: when the next one is due, and the lines it makes.
//!
//! A round reads every clock once. What it costs is bounded in time and on disk: after so many rounds the period doubles, so a
//! session ten times as long makes a few times as many lines. Nothing is kept in memory from one round to the next.

use std::any::Any;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rankscope_trace::ClockScope;
use serde::Serialize;

use super::TracerReader;
use super::sandwich::{HostClocks, HostReading, narrowest};
use super::taker::SnapshotCounts;

/// When rounds are due, in nanoseconds since the first.
#[derive(Debug)]
pub(super) struct Pace {
    period_ns: u64,
    /// How many of the first periods one period lasts by now.
    factor: u64,
    due_ns: u64,
    rounds: u64,
    rounds_max: u64,
}

impl Pace {
    pub(super) fn new(period_ns: u64, rounds_max: u64) -> Self {
        Self { period_ns: period_ns.max(1), factor: 1, due_ns: 0, rounds: 0, rounds_max: rounds_max.max(1) }
    }

    /// When the round after this one is due, it being `now_ns`. Rounds whose time has passed are missed and not made up for.
    pub(super) fn next_ns(&mut self, now_ns: u64, counts: &mut SnapshotCounts) -> u64 {
        self.rounds += 1;
        if self.rounds == self.rounds_max {
            (self.rounds, self.factor) = (0, self.factor.saturating_mul(2));
        }
        let step_ns = self.period_ns.saturating_mul(self.factor);
        let late = now_ns.saturating_sub(self.due_ns) / step_ns;
        self.due_ns = self.due_ns.saturating_add(step_ns.saturating_mul(late + 1));
        counts.missed += late;
        counts.thinned += self.factor - 1;
        self.due_ns
    }
}

/// Clocks that are read into lines.
pub(super) struct Series {
    pub(super) clocks: Vec<TracerReader>,
    pub(super) tries: u32,
    pub(super) half_width_max_ns: u64,
    line: Vec<u8>,
}

impl Series {
    pub(super) fn new(clocks: Vec<TracerReader>, tries: u32, half_width_max_ns: u64) -> Self {
        Self { clocks, tries, half_width_max_ns, line: Vec::new() }
    }

    /// One round into `out`. A clock whose reading panics is left out from then on, and named in `lost`.
    pub(super) fn round(
        &mut self,
        host: &mut impl HostClocks,
        out: &mut impl Write,
        counts: &mut SnapshotCounts,
        lost: &mut Vec<String>,
    ) -> io::Result<()> {
        self.line.clear();
        let mut taken = 0;
        let (tries, most_ns, line) = (self.tries, self.half_width_max_ns, &mut self.line);
        self.clocks.retain_mut(|clock| {
            match catch_unwind(AssertUnwindSafe(|| narrowest(host, &mut clock.read, tries))) {
                Ok(None) => counts.missed += 1,
                Ok(Some(reading)) if reading.half_width_ns > most_ns => counts.dropped += 1,
                Ok(Some(reading)) => match write_row(line, clock, &reading) {
                    Ok(()) => taken += 1,
                    Err(_) => counts.dropped += 1,
                },
                Err(panic) => {
                    lost.push(panicked(clock, panic.as_ref()));
                    return false;
                }
            }
            true
        });
        match out.write_all(&self.line) {
            Ok(()) => counts.taken += taken,
            Err(refused) => {
                counts.dropped += taken;
                return Err(refused);
            }
        }
        Ok(())
    }
}

fn panicked(clock: &TracerReader, panic: &(dyn Any + Send)) -> String {
    format!("reading {} panicked: {}", clock.name, crate::plugins::said(panic))
}

/// The keys are those of the origin's snapshot pairs, and ours beside them.
#[derive(Serialize)]
struct Row<'a> {
    clock: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    tracer_clock_ns: i64,
    sys_clock_ns: i64,
    half_width_ns: u64,
    raw_clock_ns: i64,
}

fn write_row(out: &mut Vec<u8>, clock: &TracerReader, reading: &HostReading) -> serde_json::Result<()> {
    let row = Row {
        clock: &clock.name,
        scope: (clock.scope == ClockScope::Devices).then_some("devices"),
        tracer_clock_ns: reading.tracer,
        sys_clock_ns: reading.wall_ns,
        half_width_ns: reading.half_width_ns,
        raw_clock_ns: reading.raw_ns,
    };
    serde_json::to_writer(&mut *out, &row)?;
    out.push(b'\n');
    Ok(())
}

/// The first line of a series: who reads, and how often at first.
pub(super) fn write_header(out: &mut impl Write, period_ns: u64) -> io::Result<()> {
    writeln!(out, "{{\"meta\":true,\"schema\":1,\"pid\":{},\"sampling_period_ns\":{period_ns}}}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_due_at_the_period_and_late_ones_are_missed() {
        let mut counts = SnapshotCounts::default();
        let mut pace = Pace::new(100, u64::MAX);
        assert_eq!(pace.next_ns(3, &mut counts), 100);
        assert_eq!(pace.next_ns(199, &mut counts), 200);
        assert_eq!((pace.next_ns(560, &mut counts), counts.missed), (600, 3));
    }

    #[test]
    fn a_long_session_makes_few_lines() {
        let mut counts = SnapshotCounts::default();
        let mut pace = Pace::new(1, 1_000);
        let (mut now_ns, mut rounds) = (0, 0_u64);
        while now_ns < 1_000_000 {
            now_ns = pace.next_ns(now_ns, &mut counts);
            rounds += 1;
        }
        assert!((9_000..11_000).contains(&rounds), "{rounds}");
        assert_eq!(counts.missed, 0);
        assert!(rounds + counts.thinned >= 1_000_000);
    }

    struct Still(i64);

    impl HostClocks for Still {
        fn raw_ns(&mut self) -> i64 {
            self.0 += 10;
            self.0
        }

        fn wall_ns(&mut self) -> i64 {
            self.raw_ns() + 1_000
        }
    }

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_read_is_written_and_what_is_not_is_counted() {
        let clocks = vec![
            TracerReader::new("gpu", ClockScope::Devices, || Some(5)),
            TracerReader::new("silent", ClockScope::Everything, || None),
            TracerReader::new("broken", ClockScope::Everything, || panic!("no driver")),
            TracerReader::new("host", ClockScope::Everything, || Some(1)),
        ];
        let mut series = Series::new(clocks, 1, 15);
        let (mut out, mut counts, mut lost) = (Vec::new(), SnapshotCounts::default(), Vec::new());
        for _ in 0..2 {
            series.round(&mut Still(0), &mut out, &mut counts, &mut lost).unwrap();
        }
        assert_eq!(counts, SnapshotCounts { taken: 4, missed: 2, ..SnapshotCounts::default() });
        assert_eq!(lost, ["reading broken panicked: no driver"]);
        let text = String::from_utf8(out).unwrap();
        assert_eq!(
            text.lines().next(),
            Some(
                r#"{"clock":"gpu","scope":"devices","tracer_clock_ns":5,"sys_clock_ns":1025,"half_width_ns":15,"raw_clock_ns":25}"#
            )
        );
        series.half_width_max_ns = 14;
        series.round(&mut Still(0), &mut Vec::new(), &mut counts, &mut lost).unwrap();
        assert_eq!((counts.taken, counts.dropped), (4, 2), "too wide");
        series.half_width_max_ns = 15;
        assert!(series.round(&mut Still(0), &mut Full, &mut counts, &mut lost).is_err());
        assert_eq!((counts.taken, counts.dropped), (4, 4), "not written");
    }
}
