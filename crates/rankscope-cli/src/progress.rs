//! How far the work is: a bar for people, or lines of JSON on stderr for whoever runs thousands of these.
//!
//! A line is one document with the keys `stage` (`reading`, `writing`, and at the end `done` or `failed`), `done` and `of` (files of
//! that stage) and `seconds` since the start. At most one a second, and one at the end.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use rankscope_pipeline::{Progress, Stage};
use serde_json::json;

use crate::job::Bar;
use crate::{memory, output};

/// How progress is told.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct ProgressArgs {
    /// Tell progress as lines of JSON on stderr, at most one a second and one at the end, in place of a bar
    #[arg(long, value_enum, value_name = "json")]
    progress: Option<ProgressFormat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ProgressFormat {
    /// A document a line, with the keys stage, done, of and seconds
    Json,
}

impl ProgressArgs {
    /// Whether it is told as JSON.
    pub fn is_json(self) -> bool {
        self.progress.is_some()
    }

    /// Does `work`, which tells how far it is.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn told<T>(self, work: impl FnOnce(&dyn Progress) -> Result<T>) -> Result<T> {
        match self.progress {
            None => work(&Bar::default()),
            Some(ProgressFormat::Json) => {
                let lines = Lines { begun: Instant::now(), state: Mutex::default() };
                let done = work(&lines);
                lines.over(if done.is_ok() { "done" } else { "failed" });
                done
            }
        }
    }
}

struct Lines {
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    stage: &'static str,
    done: usize,
    of: usize,
    told: Option<Instant>,
}

/// Between two lines.
const PAUSE: Duration = Duration::from_secs(1);

impl Lines {
    fn with(&self, act: impl FnOnce(&mut State)) {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn say(&self, stage: &str, state: &State) {
        let seconds = self.begun.elapsed().as_millis() as f64 / 1e3;
        output::remark(&json!({ "stage": stage, "done": state.done, "of": state.of, "seconds": seconds }).to_string());
    }

    fn over(&self, stage: &str) {
        self.with(|state| self.say(stage, state));
    }
}

impl Progress for Lines {
    fn begin(&self, stage: Stage, files: usize) {
        let stage = match stage {
            Stage::Writing => "writing",
            _ => "reading",
        };
        self.with(|state| *state = State { stage, done: 0, of: files, told: state.told });
    }

    fn advance(&self) {
        self.with(|state| {
            state.done += 1;
            let now = Instant::now();
            if now.duration_since(state.told.unwrap_or(self.begun)) >= PAUSE {
                state.told = Some(now);
                self.say(state.stage, state);
            }
        });
    }

    fn end(&self) {
        memory::give_back();
    }

    fn let_go(&self) {
        memory::give_back();
    }
}
