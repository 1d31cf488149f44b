//! [`About`]: what a recording says about the process it was made in, as the outputs want it.

use serde_json::Value;

use crate::recording::keys::{API, KINETO_API};
use crate::recording::{Chunks, Recording};

/// What an export says about the process that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct About {
    /// The process's name.
    pub process_name: String,
    /// Its number.
    pub pid: u32,
    /// The host it ran on.
    pub host: Option<String>,
    /// Its rank in the job.
    pub rank: Option<u32>,
    /// Ranks in the job.
    pub world_size: Option<u32>,
    /// What else there is to know: key, and value as JSON text. The last of equal keys counts.
    pub metadata: Vec<(String, String)>,
    /// What the trace is called; Kineto puts its path here.
    pub trace_name: Option<String>,
    /// Whether the trace is to look as if Kineto had written it: every span has a number under "External id", and the marks of
    /// PyTorch's profiler stand around the events. Recordings say so that were made through the Kineto-compatible API.
    pub is_kineto: bool,
}

impl About {
    /// What `recording` says itself. Keys of the user lose their prefix `user.`.
    pub fn of<C: Chunks>(recording: &Recording<C>) -> Self {
        let mut about = Self::default();
        for (key, json) in recording.meta() {
            let value = serde_json::from_str(json).unwrap_or(Value::Null);
            let text = || value.as_str().map(str::to_owned);
            let number = || value.as_u64().and_then(|number| u32::try_from(number).ok());
            match key.as_str() {
                "process_name" => about.process_name = text().unwrap_or_default(),
                "pid" => about.pid = number().unwrap_or_default(),
                "host_name" => about.host = text(),
                "rank" => about.rank = number(),
                "world_size" => about.world_size = number(),
                API => about.is_kineto = value == KINETO_API,
                key => about.metadata.push((key.strip_prefix("user.").unwrap_or(key).to_owned(), json.clone())),
            }
        }
        about
    }

    /// The same for a trace that is called so.
    #[must_use]
    pub fn with_trace_name(mut self, trace_name: impl Into<String>) -> Self {
        self.trace_name = Some(trace_name.into());
        self
    }

    /// The metadata without repetitions, in the order of the last mention of each key.
    pub(super) fn said_last(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut last: Vec<(usize, &(String, String))> = self.metadata.iter().enumerate().collect();
        last.sort_by(|(at, (a, _)), (later, (b, _))| a.cmp(b).then(later.cmp(at)));
        last.dedup_by(|(_, (a, _)), (_, (b, _))| a == b);
        last.sort_unstable_by_key(|(at, _)| *at);
        last.into_iter().map(|(_, (key, json))| (key.as_str(), json.as_str()))
    }
}
