//! What to read about an alarm: the command that shows the step it was raised at, if ranks recorded it, or why a job stands still.
//!
//! Recordings are judged by their files alone, which is quick: one that was begun before the alarm and written to in the minute before it
//! or later covers it. Nothing is opened.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rankscope_live::{Alarm, AlarmKind};
use rankscope_run::files_in;

use crate::quoted;

/// Files are written from time to time.
const MINUTE: Duration = Duration::from_secs(60);

/// The command that shows `alarm` of the run in the directory `run`.
pub(super) fn command(run: &Path, alarm: &Alarm) -> Option<String> {
    let run_said = quoted(&run.display().to_string());
    if alarm.kind == AlarmKind::Hang {
        return Some(format!("rankscope hang {run_said}"));
    }
    let step = alarm.step?;
    let at = UNIX_EPOCH + Duration::from_nanos(u64::try_from(alarm.time_ns).ok()?);
    let files = files_in(&run.join("raw")).unwrap_or_default();
    let is_covered = files.iter().any(|file| covers(file, at));
    is_covered.then(|| format!("rankscope report {run_said} --step {step}"))
}

/// Whether a file may hold what happened at `at`. Not every file system knows when a file was begun.
fn covers(file: &Path, at: SystemTime) -> bool {
    let Ok(about) = fs::metadata(file) else { return false };
    let was_begun_later = about.created().is_ok_and(|created| created > at + MINUTE);
    about.len() > 0 && !was_begun_later && about.modified().is_ok_and(|modified| modified + MINUTE >= at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_live::{Confidence, Detector};

    fn alarm(kind: AlarmKind, at: SystemTime, step: Option<i64>) -> Alarm {
        Alarm {
            time_ns: at.duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64,
            kind,
            rank: Some(2),
            detector: Detector::Cusum,
            value_ns: 2,
            threshold_ns: 1,
            clock_error_ns: 0,
            confidence: Confidence::Persistent,
            cleared_ns: None,
            step,
        }
    }

    #[test]
    fn a_step_that_was_recorded_is_named_and_one_that_was_not_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("my run");
        let now = SystemTime::now();
        fs::create_dir_all(run.join("raw")).unwrap();
        let command = |kind, at, step| command(&run, &alarm(kind, at, step));
        assert_eq!(command(AlarmKind::Straggler, now, Some(7)), None, "nothing is recorded");
        fs::write(run.join("raw/rank-0.rkr"), b"events").unwrap();
        let said = command(AlarmKind::Straggler, now, Some(7)).unwrap();
        assert!(said.starts_with("rankscope report '") && said.ends_with("my run' --step 7"), "{said}");
        assert_eq!(command(AlarmKind::SlowJob, now, None), None, "no step is known");
        assert_eq!(command(AlarmKind::Straggler, now + Duration::from_secs(600), Some(9)), None, "recorded before it");
        assert_eq!(command(AlarmKind::Straggler, now - Duration::from_secs(600), Some(1)), None, "recorded after it");
        assert!(command(AlarmKind::Hang, now, None).unwrap().starts_with("rankscope hang '"));
    }
}
