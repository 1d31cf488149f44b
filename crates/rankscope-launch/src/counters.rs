//! `run --counters`: one process for each node that samples its counters beside the job, into `counters/HOST.rkr` of the run directory.
//!
//! It is a process of its own, as agents are, because a vendor's library is loaded into it. It is started where agents are: here by the first of
//! a node's processes, or on every node by the words that a launcher has for that. It ends with the job, or with us however we end.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::killpg;
use nix::unistd::Pid;
use rankscope_probe::launch::command::Agents;

use crate::asked::ask_to_end;
use crate::directory::Directory;
use crate::error::Error;
use crate::executable::Executable;
use crate::notice::{Notice, Observer};

/// How counters are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    /// Samples a second.
    pub hz: u32,
}

/// Who samples.
pub(crate) struct Counters {
    child: Child,
    observer: Arc<dyn Observer>,
}

/// It completes its recording first.
const STOP_WITHIN: Duration = Duration::from_secs(10);

impl Counters {
    /// Samples from now on, if this process is the one of its node that does; if that cannot be, says so in one line.
    pub(crate) fn start(
        counting: Counting,
        plan: &Agents,
        directory: &Directory,
        observer: &Arc<dyn Observer>,
    ) -> Option<Self> {
        let prefix = match plan {
            Agents::Here { local_rank: 1.., .. } => return None,
            Agents::Here { .. } | Agents::Impossible(_) => &[][..],
            Agents::Everywhere { prefix, .. } => prefix,
        };
        match try_start(counting, prefix, directory) {
            Ok(child) => Some(Self { child, observer: Arc::clone(observer) }),
            Err(error) => {
                observer.notice(&Notice::NoCounters(error.to_string()));
                None
            }
        }
    }

    /// Ends it: the job is over.
    pub(crate) fn end(mut self) {
        let group = Pid::from_raw(self.child.id().cast_signed());
        let ended = ask_to_end(&mut self.child, STOP_WITHIN, |signal| {
            let _gone = killpg(group, signal);
        });
        if !ended {
            self.observer.notice(&Notice::NoCounters("their process did not end when asked and was killed".to_owned()));
        }
    }
}

fn try_start(counting: Counting, prefix: &[String], directory: &Directory) -> Result<Child, Error> {
    let own = Executable::own()?;
    let mut command = own.tied();
    command.args(prefix).args(own.counters(&directory.path().join("counters"), counting.hz)).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    command.spawn().map_err(Error::NoProcess)
}
