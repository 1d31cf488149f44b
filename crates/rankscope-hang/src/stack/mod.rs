//! What processes are doing: their stacks and states, as somebody saw them from outside.
//!
//! Stacks are compared without lines of files, so that ranks in the same place are the same. A stack shows where a rank is and not why:
//! what differs from most is printed, and a rank is only named by it where most others are in communication and it is not, or where its
//! process is stopped or gone.

mod hear;
mod parse;

use std::collections::BTreeMap;

use rankscope_document::HangStack;

pub(crate) use hear::hear;

/// What a process is, by the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProcessState {
    /// It runs or sleeps, or nobody looked.
    #[default]
    Alive,
    /// It waits for a device, and no signal reaches it.
    Uninterruptible,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It has ended.
    Gone,
}

impl ProcessState {
    /// The state that `/proc` spells `letter`; no letter is of no process.
    pub const fn of_letter(letter: Option<char>) -> Self {
        match letter {
            Some('D') => Self::Uninterruptible,
            Some('T' | 't') => Self::Stopped,
            Some('Z' | 'X' | 'x') | None => Self::Gone,
            Some(_) => Self::Alive,
        }
    }

    /// It in a word or two.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Alive => "",
            Self::Uninterruptible => "waits for a device",
            Self::Stopped => "is stopped by a signal or a debugger",
            Self::Gone => "has ended",
        }
    }
}

/// What somebody saw of one process.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Its rank, where that is known.
    pub rank: Option<u32>,
    /// Its number.
    pub pid: Option<u32>,
    /// What the system says of it.
    pub state: ProcessState,
    /// What py-spy printed of it, or its own `faulthandler`.
    pub python: Option<String>,
    /// Functions of the kernel that its main thread is in, the innermost first.
    pub kernel: Vec<String>,
    /// Counters of waiting that are active now, by name.
    pub waits: Vec<String>,
}

/// One process, understood.
#[derive(Clone, Debug)]
pub(crate) struct Doing<'a> {
    pub(crate) seen: &'a Observed,
    /// Of its main thread, the innermost first; empty where nobody could look.
    pub(crate) frames: Vec<Frame>,
}

/// A function and its file, without the line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Frame {
    pub(crate) function: Box<str>,
    pub(crate) file: Box<str>,
}

impl Frame {
    fn text(&self) -> String {
        let file = self.file.rsplit('/').next().unwrap_or_default();
        if file.is_empty() { self.function.to_string() } else { format!("{} ({file})", self.function) }
    }
}

impl<'a> Doing<'a> {
    fn of(seen: &'a Observed) -> Self {
        Self { seen, frames: seen.python.as_deref().map(parse::main_thread).unwrap_or_default() }
    }

    /// Whether it is in communication, as far as that can be seen.
    fn communicates(&self) -> Option<bool> {
        let is_waiting = self.seen.waits.iter().any(|name| name.contains("ProcessGroup") || name.contains("c10d"));
        match self.frames.is_empty() {
            true => is_waiting.then_some(true),
            false => Some(is_waiting || self.frames.iter().take(INNERMOST).any(is_communication)),
        }
    }

    fn lines(&self) -> Vec<String> {
        if self.frames.is_empty() { self.seen.kernel.clone() } else { self.frames.iter().map(Frame::text).collect() }
    }

    /// Where it is, in a few words.
    fn place(&self) -> Option<String> {
        let own = self.frames.iter().find(|frame| !is_of_library(frame)).or(self.frames.first());
        own.map(Frame::text).or_else(|| self.seen.kernel.first().map(|function| format!("{function} of the kernel")))
    }
}

/// Frames from the inside that tell what a stack is about. Further out everything is below somebody's wrapper.
const INNERMOST: usize = 5;

fn is_communication(frame: &Frame) -> bool {
    let file = frame.file.rsplit('/').next().unwrap_or_default();
    matches!(file, "distributed_c10d.py" | "c10d_logger.py" | "_functional_collectives.py")
}

fn is_of_library(frame: &Frame) -> bool {
    ["/torch/", "site-packages/", "/lib/python", "<frozen"].iter().any(|part| frame.file.contains(part))
        || frame.file.starts_with("torch/")
        || !frame.file.contains('/') && ["threading.py", "socket.py", "selectors.py", "queue.py"].contains(&&*frame.file)
}

/// Processes in the same place, the most together first.
fn groups<'d, 'a>(doings: &'d [Doing<'a>]) -> Vec<Vec<&'d Doing<'a>>> {
    let mut groups: BTreeMap<(ProcessState, Vec<String>), Vec<&Doing<'a>>> = BTreeMap::new();
    for doing in doings {
        groups.entry((doing.seen.state, doing.lines())).or_default().push(doing);
    }
    let mut groups: Vec<Vec<&Doing<'a>>> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}

fn as_document(group: &[&Doing<'_>]) -> HangStack {
    let mut waits: Vec<String> = group.iter().flat_map(|doing| doing.seen.waits.iter().cloned()).collect();
    waits.sort();
    waits.dedup();
    HangStack {
        ranks: group.iter().filter_map(|doing| doing.seen.rank).collect(),
        pids: group.iter().filter_map(|doing| doing.seen.pid).collect(),
        state: group.first().map(|doing| doing.seen.state.as_str().to_owned()).unwrap_or_default(),
        frames: group.first().map(|doing| doing.lines()).unwrap_or_default(),
        waits,
    }
}
