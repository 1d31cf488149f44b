//! [`Session`]: one profiler of a host, which may run several times in turn.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rankscope_record::plugins::block_signals;

use crate::anchors::Anchors;
use crate::failure::Failure;
use crate::{About, Anchor, space};

/// Readings of the clocks for each anchor: enough that one of them is not interrupted.
const TRIES: u32 = 16;

/// A profiler.
#[derive(Debug, Default)]
pub(crate) struct Session {
    inner: Mutex<Inner>,
    /// The thread that takes anchors is to end.
    ends: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    state: State,
    /// How often it was started: a thread of an earlier run takes no anchors of a later one.
    runs: u64,
    anchors: Anchors,
    /// What was handed out: a host may read it until it destroys the profiler.
    handed_out: Vec<Arc<[u8]>>,
    keeper: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    New,
    Running,
    Stopped,
    /// Stopped, and the newest of what was handed out is of that.
    Collected,
}

impl Session {
    /// Takes the first anchor, and one each second from now on. Where no thread can be had, the last one is all that follows.
    pub(crate) fn start(self: &Arc<Self>) -> Result<(), Failure> {
        let mut inner = self.lock();
        if inner.state == State::Running {
            return Err(Failure::Running);
        }
        inner.state = State::Running;
        inner.runs += 1;
        inner.anchors = Anchors::default();
        inner.anchors.add(Anchor::narrowest(TRIES));
        let (own, run) = (Arc::clone(self), inner.runs);
        inner.keeper = thread::Builder::new().name("rankscope-pjrt".to_owned()).spawn(move || own.keep(run)).ok();
        Ok(())
    }

    /// Takes the last anchor.
    pub(crate) fn stop(&self) -> Result<(), Failure> {
        let keeper = {
            let mut inner = self.lock();
            if inner.state != State::Running {
                return Err(Failure::NotRunning);
            }
            inner.state = State::Stopped;
            inner.anchors.add(Anchor::narrowest(TRIES));
            inner.keeper.take()
        };
        self.ends.notify_all();
        // Anything it could panic with is no business of the host.
        keeper.map(JoinHandle::join);
        Ok(())
    }

    /// The XSpace of the run that ended last, and behind it what `others` have of that run, who are asked once.
    pub(crate) fn collect(&self, others: impl FnOnce() -> Vec<u8>) -> Result<Arc<[u8]>, Failure> {
        let mut inner = self.lock();
        let bytes = match (inner.state, inner.handed_out.last()) {
            (State::Collected, Some(known)) => return Ok(Arc::clone(known)),
            (State::Stopped | State::Collected, _) => [space::encode(&About::own(), inner.anchors.all()), others()].concat(),
            (State::New | State::Running, _) => return Err(Failure::NotStopped),
        };
        let bytes: Arc<[u8]> = bytes.into();
        inner.handed_out.push(Arc::clone(&bytes));
        inner.state = State::Collected;
        Ok(bytes)
    }

    /// One anchor each second until the end of that run.
    fn keep(&self, run: u64) {
        block_signals();
        let mut inner = self.lock();
        let runs = |inner: &Inner| inner.state == State::Running && inner.runs == run;
        while runs(&inner) {
            let period = inner.anchors.period();
            let waited = self.ends.wait_timeout(inner, period).unwrap_or_else(PoisonError::into_inner);
            inner = waited.0;
            if waited.1.timed_out() && runs(&inner) {
                inner.anchors.add(Anchor::narrowest(TRIES));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_the_wrong_order_change_nothing() {
        let session = Arc::new(Session::default());
        assert_eq!((session.stop(), session.collect(Vec::new).err()), (Err(Failure::NotRunning), Some(Failure::NotStopped)));
        assert_eq!((session.start(), session.start()), (Ok(()), Err(Failure::Running)));
        assert_eq!(session.collect(Vec::new).err(), Some(Failure::NotStopped));
        assert_eq!((session.stop(), session.stop()), (Ok(()), Err(Failure::NotRunning)));
        let (first, again) = (session.collect(Vec::new).unwrap(), session.collect(Vec::new).unwrap());
        assert!(Arc::ptr_eq(&first, &again));
        assert!(session.collect(|| panic!("others were asked before")).is_ok());
        // It runs a second time, and what was handed out before is still there.
        assert_eq!((session.start(), session.stop()), (Ok(()), Ok(())));
        assert!(session.collect(Vec::new).unwrap() != first);
        assert_eq!(session.lock().handed_out.len(), 2);
        assert_eq!(session.lock().anchors.all().len(), 2);
    }
}
