//! What is open of a span object, which may be entered again inside itself and on several threads at a time.
//!
//! Nearly always that is one span or none, and then two words say it, written without a lock: while there is a GIL, nobody comes in
//! between. Where there is none, or more than one is open, they are changed under a lock. A thread ends the innermost that is its own.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rankscope_record::{AsyncSpan, OpenSpan};

use super::threads::is_free_threaded;

/// Spans that were entered and not left.
#[derive(Default)]
pub(super) struct Open {
    /// The innermost, in its two parts. None has epoch 0.
    epoch: AtomicU32,
    correlation_id: AtomicU64,
    /// Whether there is anything in `more`.
    has_more: AtomicBool,
    more: Mutex<Option<Box<More>>>,
}

/// What few spans have.
#[derive(Default)]
struct More {
    /// Those around the innermost, the outermost first.
    outer: Vec<OpenSpan>,
    waiting: Vec<AsyncSpan>,
}

impl More {
    fn has_any(&self) -> bool {
        !self.outer.is_empty() || !self.waiting.is_empty()
    }
}

impl Open {
    /// A span was begun; [`OpenSpan::NONE`] changes nothing.
    #[inline]
    pub(super) fn entered(&self, begun: OpenSpan) {
        if begun == OpenSpan::NONE {
            return;
        }
        if is_free_threaded() || self.epoch.load(Ordering::Relaxed) != 0 {
            return self.entered_again(begun);
        }
        self.set_innermost(begun);
    }

    /// The span to end now; [`OpenSpan::NONE`] where none is open.
    #[inline]
    pub(super) fn left(&self) -> OpenSpan {
        if is_free_threaded() || self.has_more.load(Ordering::Relaxed) {
            return self.left_one();
        }
        let innermost = self.innermost();
        self.epoch.store(0, Ordering::Relaxed);
        innermost
    }

    /// Whether nothing is open.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.epoch.load(Ordering::Relaxed) == 0 && !self.has_more.load(Ordering::Relaxed)
    }

    /// A span of no thread was begun.
    pub(super) fn waits(&self, span: AsyncSpan) {
        self.more().get_or_insert_default().waiting.push(span);
        self.has_more.store(true, Ordering::Relaxed);
    }

    /// The one of them to end now.
    pub(super) fn waited(&self) -> Option<AsyncSpan> {
        let mut more = self.more();
        let more = more.as_mut()?;
        let ended = more.waiting.pop();
        self.has_more.store(more.has_any(), Ordering::Relaxed);
        ended
    }

    #[cold]
    fn entered_again(&self, begun: OpenSpan) {
        let mut more = self.more();
        let outer = self.innermost();
        if outer != OpenSpan::NONE {
            more.get_or_insert_default().outer.push(outer);
            self.has_more.store(true, Ordering::Relaxed);
        }
        self.set_innermost(begun);
    }

    #[cold]
    fn left_one(&self) -> OpenSpan {
        let mut more = self.more();
        let more = more.get_or_insert_default();
        let innermost = self.innermost();
        let own =
            if innermost.is_of_this_thread() { None } else { more.outer.iter().rposition(|open| open.is_of_this_thread()) };
        let left = match own {
            Some(own) => more.outer.remove(own),
            None => {
                self.set_innermost(more.outer.pop().unwrap_or(OpenSpan::NONE));
                innermost
            }
        };
        self.has_more.store(more.has_any(), Ordering::Relaxed);
        left
    }

    #[inline]
    fn innermost(&self) -> OpenSpan {
        OpenSpan::of_parts(self.epoch.load(Ordering::Relaxed), self.correlation_id.load(Ordering::Relaxed))
    }

    #[inline]
    fn set_innermost(&self, span: OpenSpan) {
        let (epoch, correlation_id) = span.parts();
        self.correlation_id.store(correlation_id, Ordering::Relaxed);
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    fn more(&self) -> MutexGuard<'_, Option<Box<More>>> {
        self.more.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
