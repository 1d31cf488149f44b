//! `alarms.jsonl` of a run directory: what was raised while somebody watched, a line for each alarm, and one more when it is over.
//!
//! Only ever added to, by one watcher at a time. Lines that are no alarms, as one that is half written, are left out by readers.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use rankscope_document::{LiveAlarm, LiveAlarmKind};
use rankscope_live::{Alarm, AlarmKind};
use rankscope_run::{SideFile, read_side_text};

use super::reading;
use crate::Error;

const NAME: &str = "alarms.jsonl";

/// Where a watcher writes alarms down.
#[derive(Debug)]
pub struct AlarmLog {
    path: PathBuf,
    file: File,
}

impl AlarmLog {
    /// That of the run directory `run`, which no other process may write to meanwhile.
    ///
    /// # Errors
    /// [`Error::Watched`] where another process watches, [`Error::Io`] where the file cannot be written.
    pub fn open(run: &Path) -> Result<Self, Error> {
        let path = run.join(NAME);
        let of = |source| Error::Io { path: path.clone(), source };
        let file = OpenOptions::new().append(true).create(true).open(&path).map_err(of)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path, file }),
            Err(TryLockError::WouldBlock) => Err(Error::Watched { path: run.to_owned() }),
            Err(TryLockError::Error(error)) => Err(of(error)),
        }
    }

    /// What watchers before this one raised and did not see the end of, as over now: whatever lasts is raised again.
    pub fn left_behind(&self) -> Vec<LiveAlarm> {
        let now_ns = super::now_ns();
        let left = raised_in(&self.path).into_iter();
        left.map(|alarm| LiveAlarm { cleared_ns: Some(now_ns), ..alarm }).collect()
    }

    /// Adds an alarm, or that it is over.
    ///
    /// # Errors
    /// [`Error::Io`], as on a full disk.
    pub fn add(&mut self, alarm: &LiveAlarm) -> Result<(), Error> {
        let mut line = serde_json::to_vec(alarm).unwrap_or_default();
        line.push(b'\n');
        // In one piece, so that a reader sees all of it or none.
        self.file.write_all(&line).map_err(|source| Error::Io { path: self.path.clone(), source })
    }
}

/// What was raised in the run directory `run` and is not over, as far as a watcher wrote it down.
pub(super) fn raised(run: &Path) -> Vec<LiveAlarm> {
    raised_in(&run.join(NAME))
}

fn raised_in(path: &Path) -> Vec<LiveAlarm> {
    let text = read_side_text(path, SideFile::Record).unwrap_or_default();
    let mut raised: Vec<LiveAlarm> = Vec::new();
    for alarm in text.lines().filter_map(|line| serde_json::from_str::<LiveAlarm>(line).ok()) {
        keep(&mut raised, alarm);
    }
    raised
}

/// Adds an alarm to those that are not over, or takes one away that is.
pub(super) fn keep(raised: &mut Vec<LiveAlarm>, alarm: LiveAlarm) {
    raised.retain(|other| (other.kind, other.rank) != (alarm.kind, alarm.rank));
    if alarm.cleared_ns.is_none() {
        raised.push(alarm);
    }
}

/// The same in the document, with the command that shows it in the run directory `run`.
pub(super) fn told(alarm: &Alarm, run: Option<&Path>) -> LiveAlarm {
    LiveAlarm {
        time_ns: alarm.time_ns,
        kind: match alarm.kind {
            AlarmKind::Straggler => LiveAlarmKind::Straggler,
            AlarmKind::SlowJob => LiveAlarmKind::SlowJob,
            AlarmKind::Hang => LiveAlarmKind::Hang,
        },
        rank: alarm.rank,
        detector: alarm.detector.name().to_owned(),
        value_ns: alarm.value_ns,
        threshold_ns: alarm.threshold_ns,
        clock_error_ns: alarm.clock_error_ns,
        confidence: alarm.confidence.name().to_owned(),
        cleared_ns: alarm.cleared_ns,
        step: alarm.step,
        read: run.filter(|_| alarm.cleared_ns.is_none()).and_then(|run| reading::command(run, alarm)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarm(rank: u32, cleared_ns: Option<i64>) -> LiveAlarm {
        LiveAlarm { rank: Some(rank), cleared_ns, ..LiveAlarm::default() }
    }

    #[test]
    fn what_is_over_is_not_raised_and_half_a_line_is_no_alarm() {
        let run = tempfile::tempdir().unwrap();
        assert_eq!(raised(run.path()), []);
        let mut log = AlarmLog::open(run.path()).unwrap();
        for alarm in [alarm(2, None), alarm(3, None), alarm(2, Some(7))] {
            log.add(&alarm).unwrap();
        }
        log.file.write_all(b"{\"time_ns\":1,\"ki").unwrap();
        assert_eq!(raised(run.path()), [alarm(3, None)]);
    }

    #[test]
    fn what_a_watcher_left_behind_is_over_for_the_next() {
        let run = tempfile::tempdir().unwrap();
        AlarmLog::open(run.path()).unwrap().add(&alarm(4, None)).unwrap();
        let mut next = AlarmLog::open(run.path()).unwrap();
        let left = next.left_behind();
        assert_eq!(left, [alarm(4, left[0].cleared_ns)]);
        assert!(left[0].cleared_ns.is_some());
        left.iter().for_each(|alarm| next.add(alarm).unwrap());
        assert_eq!((next.left_behind(), raised(run.path())), (vec![], vec![]));
    }

    #[test]
    fn a_second_watcher_is_refused_until_the_first_is_gone() {
        let run = tempfile::tempdir().unwrap();
        let first = AlarmLog::open(run.path()).unwrap();
        let refused = AlarmLog::open(run.path()).unwrap_err();
        assert!(matches!(&refused, Error::Watched { path } if path == run.path()), "{refused}");
        drop(first);
        assert!(AlarmLog::open(run.path()).is_ok());
    }
}
