//! The files by which a request reaches the ranks and their answers come back.
//!
//! ```text
//! .rankscope-hooks/triggers/<n>/request.json    somebody asks
//!                               rank-<r>.json   what rank r says, replaced each time
//!                               agreed-<k>.json the steps, in round k
//!                               over            nobody waits any more
//! ```
//!
//! Each appears whole. The folder is that of the hooks, which goes when the job is over.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rankscope_run::{RunDirectory, SideFile, State, read_side};
use serde::Serialize;

use super::answer::Answer;
use super::{TriggerError, TriggerRequest};
use crate::hooks;

/// A request, as its ranks see it.
pub(super) struct Exchange {
    run: PathBuf,
    folder: PathBuf,
    /// That of the request after this one.
    next: PathBuf,
}

/// Steps that are agreed on.
#[derive(Debug, Serialize)]
pub(super) struct Agreed {
    first_step: u64,
    steps: u32,
    details: Vec<&'static str>,
    request: String,
}

impl Agreed {
    pub(super) fn new(request: &TriggerRequest, first_step: u64) -> Self {
        let details = request.details.iter().map(|detail| detail.name()).collect();
        Self { first_step, steps: request.steps, details, request: request.asked_by.clone() }
    }
}

/// Bytes of a rank's word; what is longer is none.
const BYTES_MAX: u64 = 1 << 16;

impl Exchange {
    /// Asks the ranks of a run that runs.
    pub(super) fn begin(request: &TriggerRequest) -> Result<Self, TriggerError> {
        let run = request.run.clone();
        let state = RunDirectory::open(&run)?.manifest().state;
        if state != State::Running {
            return Err(TriggerError::NotRunning { run, state });
        }
        let hooks = run.join(hooks::FOLDER);
        if !hooks.is_dir() {
            return Err(TriggerError::NoHooks { run });
        }
        let triggers = hooks.join("triggers");
        let exists = |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        fs::create_dir(&triggers).or_else(|error| if exists(&error) { Ok(()) } else { Err(error) }).map_err(of(&triggers))?;
        let numbers = fs::read_dir(&triggers).map_err(of(&triggers))?.flatten();
        let mut number =
            numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).max().map_or(0, |last| last + 1);
        let folder = loop {
            let folder = triggers.join(number.to_string());
            match fs::create_dir(&folder) {
                Ok(()) => break folder,
                // Somebody else asks, too; the ranks hear the last one.
                Err(error) if exists(&error) => number += 1,
                Err(error) => return Err(of(&folder)(error)),
            }
        };
        let exchange = Self { run, folder, next: triggers.join((number + 1).to_string()) };
        exchange.write("request.json", &Agreed::new(request, 0))?;
        Ok(exchange)
    }

    /// What ranks have said until now, one answer each.
    pub(super) fn answers(&self) -> Result<Vec<Answer>, TriggerError> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(TriggerError::Over { run: self.run.clone() }),
            entries => entries.map_err(of(&self.folder))?,
        };
        if self.next.exists() {
            return Err(TriggerError::Overtaken);
        }
        let own = entries.flatten().filter(|entry| {
            let named = entry.file_name().to_string_lossy().starts_with("rank-");
            named && entry.metadata().is_ok_and(|about| about.is_file() && about.len() <= BYTES_MAX)
        });
        let mut answers: Vec<Answer> = own.filter_map(|entry| read(&entry.path())).collect();
        answers.sort_by_key(|answer| answer.rank);
        Ok(answers)
    }

    pub(super) fn agree(&self, round: u32, agreed: &Agreed) -> Result<(), TriggerError> {
        self.write(&format!("agreed-{round}.json"), agreed)
    }

    /// Nobody waits for answers any more.
    pub(super) fn end(&self) {
        // Where the job is over the folder is gone, too.
        let _gone = fs::write(self.folder.join("over"), "");
    }

    fn write(&self, name: &str, value: &impl Serialize) -> Result<(), TriggerError> {
        let path = self.folder.join(name);
        let partial = self.folder.join(format!(".{name}.partial"));
        let text = serde_json::to_vec(value).map_err(|error| of(&path)(error.into()))?;
        fs::write(&partial, text).and_then(|()| fs::rename(&partial, &path)).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                return TriggerError::Over { run: self.run.clone() };
            }
            of(&path)(error)
        })
    }
}

fn read(path: &Path) -> Option<Answer> {
    serde_json::from_slice(&read_side(path, SideFile::Record).ok()?).ok()
}

fn of(path: &Path) -> impl FnOnce(io::Error) -> TriggerError {
    let path = path.to_owned();
    move |reason| TriggerError::Io { path, reason }
}
