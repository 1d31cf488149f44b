//! A job that is launched from a program: what it ends with, what is left of it, and what its observer hears.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test of what is said and left")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rankscope_launch::{Error, ExitClass, Notice, Observer, Place, Reported, Request, Summary, run};

/// Keeps what it hears: notices, and of the summary whether there are no traces.
#[derive(Default)]
struct Heard(Mutex<(Vec<String>, Vec<bool>)>);

impl Observer for Heard {
    fn notice(&self, notice: &Notice) {
        self.0.lock().unwrap().0.push(notice.to_string());
    }

    fn over(&self, summary: &Summary<'_>) {
        let none = summary.left.files == 0 && matches!(summary.reported, Reported::NotWanted);
        self.0.lock().unwrap().1.push(none);
    }
}

fn request(at: &Path, ranks: Option<u32>, command: &[&str]) -> Request {
    Request {
        command: command.iter().map(Into::into).collect(),
        ranks,
        environment: BTreeMap::new(),
        place: Place::Path(at.to_owned()),
        run_id: None,
        clock: None,
        hooks: false,
        profile: None,
        on_hang: None,
        ring: None,
        watch: None,
        counters: None,
        report: false,
        collect: Vec::new(),
        grace: Duration::from_secs(10),
        map: None,
        finish_within: Duration::from_secs(60),
        aside: false,
    }
}

/// A run that is over.
struct Ran {
    /// The exit code, and whether there is a run directory.
    ended: Result<(i32, bool), Error>,
    notices: Vec<String>,
    summaries: Vec<bool>,
}

fn ran(request: Request) -> Ran {
    let heard = Arc::new(Heard::default());
    let observer: Arc<dyn Observer> = heard.clone();
    let ended = run(request, &observer).map(|ended| (ended.outcome.code(), ended.kept));
    let (notices, summaries) = heard.0.lock().unwrap().clone();
    Ran { ended, notices, summaries }
}

#[test]
fn a_job_ends_as_it_would_and_leaves_a_run() {
    let root = tempfile::tempdir().unwrap();
    let at = root.path().join("run");
    let Ran { ended, notices, summaries } = ran(request(&at, Some(2), &["sh", "-c", "test $RANK = 0 || exit 3"]));
    assert_eq!((ended.unwrap(), notices, summaries), ((3, true), Vec::new(), vec![true]));
    assert!(at.join("run.json").is_file());
}

#[test]
fn a_command_that_is_not_there_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let at = root.path().join("run");
    let Ran { ended, notices, summaries } = ran(request(&at, None, &["/no/such/program"]));
    assert_eq!(ended.unwrap(), (127, false));
    assert!(notices.len() == 1 && notices[0].starts_with("/no/such/program: "), "{notices:?}");
    assert_eq!((summaries, at.exists()), (Vec::new(), false));
}

#[test]
fn ranks_of_a_launcher_are_asked_for_wrongly() {
    let root = tempfile::tempdir().unwrap();
    let Ran { ended, notices, .. } = ran(request(&root.path().join("run"), Some(2), &["torchrun", "train.py"]));
    let error = ended.unwrap_err();
    assert_eq!((error.exit_class(), notices), (ExitClass::UsedWrongly, Vec::new()));
    assert_eq!(error.to_string(), "torchrun starts its own processes; leave out -n, or leave out torchrun");
}
