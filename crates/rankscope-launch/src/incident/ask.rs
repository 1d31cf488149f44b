//! What is asked of whoever keeps incidents, by parts of this process, by other nodes, and by hand.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::nodes::Nodes;
use super::post::{Answer, PostError, keys, say};
use crate::together::write_json;

/// By which others ask, each with the reason.
#[derive(Clone)]
pub(crate) struct Ask {
    asks: Option<Sender<Asked>>,
    /// Other nodes, which may share no directory, are asked as well.
    of_nodes: bool,
}

/// What is asked.
pub(super) enum Asked {
    Keep(Wanted),
    /// The job is over.
    Over,
}

/// What is to be kept.
pub(super) struct Wanted {
    pub(super) because: String,
    /// By hand: so much. What was noticed wants what the ring has.
    pub(super) last: Option<Duration>,
    pub(super) answer: Answering,
}

/// Who waits for what came of it.
pub(super) enum Answering {
    Nobody,
    /// Who looks for this file.
    File(PathBuf),
    /// Another node, which raised it under this number.
    Store(i64),
}

impl Ask {
    pub(super) fn new(asks: Sender<Asked>, of_nodes: bool) -> Self {
        Self { asks: Some(asks), of_nodes }
    }

    /// Nobody listens.
    pub(crate) fn nobody() -> Self {
        Self { asks: None, of_nodes: false }
    }

    /// Whether somebody listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.asks.is_some()
    }

    /// Has what was recorded until now kept.
    pub(crate) fn keep(&self, because: &str) {
        let Some(asks) = &self.asks else { return };
        // Whoever is gone has no run to keep anything of.
        drop(asks.send(Asked::Keep(Wanted { because: because.to_owned(), last: None, answer: Answering::Nobody })));
    }

    /// A part of the job failed. What it recorded ends there and stays; ranks of other nodes go on for a while, and what they did before is
    /// overwritten.
    pub(crate) fn failed(&self, because: &str) {
        if self.of_nodes {
            self.keep(because);
        }
    }
}

impl Answering {
    /// Says what came of it. A node that is gone waits for nothing.
    pub(super) fn tell(&self, nodes: Option<&Nodes>, answer: &Answer) -> Result<(), PostError> {
        match (self, nodes) {
            (Self::File(path), _) => Ok(write_json(path, answer)?),
            (Self::Store(number), Some(nodes)) => say(&mut *nodes.store()?, &keys::answer(*number), answer),
            (Self::Store(_), None) | (Self::Nobody, _) => Ok(()),
        }
    }

    /// Whether it is somebody who sees the run directory.
    pub(super) fn is_file(&self) -> bool {
        matches!(self, Self::File(_))
    }
}

impl Answer {
    /// An incident in `folder` of this host.
    pub(super) fn kept(folder: &Path, lacks: Vec<String>) -> Self {
        Self { host: crate::directory::host(), folder: Some(folder.to_owned()), lacks, ..Self::default() }
    }

    /// There is none.
    pub(super) fn none(problem: impl ToString) -> Self {
        Self { host: crate::directory::host(), problem: Some(problem.to_string()), ..Self::default() }
    }
}
