//! What is heard of a sweep while it is carried out, and what a sweep hears of its runs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rankscope_sweep::{Configuration, Run, Sweep, Warning};

use crate::notice::{Notice, Observer};
use crate::summary::{Reported, Summary};

/// Whoever carries out a sweep, and prints.
pub trait SweepObserver: Send + Sync {
    /// Hears what is going to happen, before anything does.
    fn plan(&self, plan: &Plan);

    /// Hears what is worth a line about the run at work.
    fn notice(&self, notice: &Notice);

    /// Hears what is worth a line about the sweep.
    fn sweep_notice(&self, notice: &SweepNotice);

    /// Hears that a run begins.
    fn begins(&self, begins: &Begins<'_>);

    /// Hears how a run ended.
    fn ended(&self, run: &Run);
}

/// A sweep that nothing keeps from beginning.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Its runs, with what has become of them.
    pub sweep: Sweep,
    /// Where it lies.
    pub folder: PathBuf,
    /// What is to be said before it begins.
    pub warnings: Vec<Warning>,
}

/// A run that begins.
#[derive(Clone, Copy, Debug)]
pub struct Begins<'a> {
    /// Which; none for a warm-up.
    pub run: Option<&'a Run>,
    /// How many there are.
    pub of: usize,
    /// What it runs with.
    pub configuration: &'a Configuration,
}

/// Something that the user should know of a sweep.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepNotice {
    /// Processes that a killed sweep left were ended.
    #[error("ended {}, which an interrupted run of this sweep had left running", processes(.pids))]
    EndedStrays {
        /// Their numbers.
        pids: Vec<u32>,
    },
    /// Processes of a run that is over still run.
    #[error("{} of this run still running; what follows runs beside them", are(.pids))]
    Strays {
        /// Their numbers.
        pids: Vec<u32>,
    },
    /// The warm-up failed.
    #[error("the warm-up failed (exit code {exit_code}); its run directory is {path}")]
    WarmUpFailed {
        /// Its run directory, from that of the sweep.
        path: String,
        /// How it ended.
        exit_code: i32,
    },
}

fn processes(pids: &[u32]) -> String {
    let listed: Vec<String> = pids.iter().map(ToString::to_string).collect();
    format!("process{} {}", if pids.len() == 1 { "" } else { "es" }, listed.join(", "))
}

fn are(pids: &[u32]) -> String {
    format!("{} {}", processes(pids), if pids.len() == 1 { "is" } else { "are" })
}

/// What a run told when it was over.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// Whether its directory is complete.
    pub(super) complete: bool,
    pub(super) traces: Option<u64>,
    /// What failed first.
    pub(super) failure: Option<String>,
}

/// Passes on notices of a run and keeps what it told when it was over.
pub(super) struct Listener {
    observer: Arc<dyn SweepObserver>,
    told: Mutex<Told>,
}

impl Listener {
    pub(super) fn new(observer: Arc<dyn SweepObserver>) -> Self {
        Self { observer, told: Mutex::default() }
    }

    pub(super) fn told(&self) -> Told {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Observer for Listener {
    fn notice(&self, notice: &Notice) {
        self.observer.notice(notice);
    }

    fn over(&self, summary: &Summary<'_>) {
        let told = Told {
            complete: !matches!(summary.reported, Reported::Removed),
            traces: Some(summary.left.files as u64),
            failure: summary.failed.as_ref().map(ToString::to_string),
        };
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = told;
    }
}
