//! Spans: guards that end what they began, and the raw halves for callers that have no scope to tie a guard to.

use std::marker::PhantomData;
use std::mem;

use rankscope_recording::NameId;

use crate::names::{self, Site};
use crate::scope::Scope;
use crate::value::Value;
use crate::{lane, live, state};
use rankscope_recording::Category;

/// A span that is open. Its end is recorded when this is dropped, also while a panic unwinds.
///
/// Guards of one thread best go in the reverse order of their making, which is what scopes do. Those that do not still record their
/// true ends: the span then overlaps others of its thread, viewers show it beside them with the argument `misnested`, and the
/// session's report counts it. Assigning to a guard is such a case, because the new span begins before the old one ends:
///
/// ```
/// use rankscope_record::{Session, SessionOptions, record_function};
///
/// let session = Session::start(SessionOptions::default())?;
/// let mut _phase = record_function!("load");
/// _phase = record_function!("train"); // "train" begins, and then "load" ends: they overlap by a few nanoseconds
/// drop(_phase);
/// let _phase = record_function!("save");
/// drop(_phase);
/// let _phase = record_function!("evaluate"); // ended before the next began, these do not
/// # drop(_phase);
/// let report = session.stop()?.report;
/// assert_eq!(report.remarks.misnested, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the span ends when its guard is dropped: give it a name like `_span`"]
#[derive(Debug)]
pub struct SpanGuard {
    /// The recording the begin went to; zero if it went nowhere.
    epoch: u32,
    /// Its correlation id.
    id: u64,
    /// A span ends on the thread it began on.
    not_send: PhantomData<*const ()>,
}

/// A span that is open, by hand: end it with [`end_raw`], once, on the thread that began it. It may be ended out of order, as a
/// [`SpanGuard`] may; an end on another thread, or a second one, is ignored and counted.
///
/// Its layout is that of a C struct of a `uint32_t` and a `uint64_t`, so that it may pass through C by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct OpenSpan {
    epoch: u32,
    id: u64,
}

impl SpanGuard {
    /// Of what a begin under `epoch` returned.
    #[inline(always)]
    fn new(epoch: u32, id: Option<u64>) -> Self {
        match id {
            Some(id) => Self { epoch, id, not_send: PhantomData },
            None => Self::off(),
        }
    }

    /// Whether it is recorded.
    pub fn is_recording(&self) -> bool {
        self.epoch != 0
    }

    /// Its correlation id: thread slot in the upper 16 bits, a count in the lower 48. None if it is not recorded.
    pub fn correlation_id(&self) -> Option<u64> {
        (self.epoch != 0).then_some(self.id)
    }

    /// Ends it and begins the span of `site` in the same moment, with the clock read once: nothing lies between the two, and the next takes a
    /// third less. [`record_next!`](crate::record_next) is the usual way to call it.
    #[inline(always)]
    pub fn then(self, site: &'static Site) -> Self {
        let goes_on = self.epoch != 0 && state::epoch_if_on(site.category().alone().0) == Some(self.epoch);
        if !goes_on {
            drop(self);
            return begin(site);
        }
        let (epoch, id, name) = (self.epoch, self.id, site.id());
        mem::forget(self);
        Self::new(epoch, lane::with(|lane| lane.end_and_begin(epoch, id, name)))
    }

    /// Ends it now, with arguments known only now.
    pub fn end_with(self, args: &[(NameId, Value<'_>)]) {
        if self.epoch != 0 {
            lane::with(|lane| lane.end_with(self.epoch, self.id, args));
        }
        mem::forget(self);
    }
}

impl Drop for SpanGuard {
    #[inline(always)]
    fn drop(&mut self) {
        if self.epoch != 0 {
            lane::with(|lane| lane.end(self.epoch, self.id));
        }
    }
}

impl OpenSpan {
    /// A span that is not recorded: ending it does nothing. All its bytes that count are zero.
    pub const NONE: Self = Self { epoch: 0, id: 0 };

    /// Its correlation id; zero of [`OpenSpan::NONE`].
    pub fn correlation_id(self) -> u64 {
        self.id
    }

    /// Its two parts, for who keeps them apart: the number of its recording, zero of [`OpenSpan::NONE`], and its correlation id.
    #[inline]
    pub fn parts(self) -> (u32, u64) {
        (self.epoch, self.id)
    }

    /// The span of these parts. Ending one that never was is ignored and counted, as ending one twice is.
    #[inline]
    pub fn of_parts(epoch: u32, id: u64) -> Self {
        Self { epoch, id }
    }

    /// Whether the calling thread began it, and has not ended it.
    pub fn is_of_this_thread(self) -> bool {
        lane::with(|lane| lane.has_open(self.epoch, self.id))
    }
}

/// Begins a span. Off, this is one relaxed load.
#[inline(always)]
pub fn begin(site: &'static Site) -> SpanGuard {
    let Some(epoch) = state::epoch_if_on(site.category().alone().0) else { return SpanGuard::off() };
    let name = site.id();
    SpanGuard::new(epoch, lane::with(|lane| lane.begin(epoch, name)))
}

/// Begins a span with arguments.
#[inline]
pub fn begin_with(site: &'static Site, args: &[(NameId, Value<'_>)]) -> SpanGuard {
    let Some(epoch) = state::epoch_if_on(site.category().alone().0) else { return SpanGuard::off() };
    begin_on(epoch, site.id(), None, args)
}

/// Begins a span of a name that was interned, with which its category was said.
#[inline]
pub fn begin_named(name: NameId, args: &[(NameId, Value<'_>)]) -> SpanGuard {
    let Some(epoch) = state::epoch_if_on(names::category_bit(name)) else { return SpanGuard::off() };
    begin_on(epoch, name, None, args)
}

/// Begins step `number` of the training loop: a span called `ProfilerStep#<number>`, as torch calls it.
pub fn begin_step(number: i64) -> SpanGuard {
    static STEP: Site = Site::new("ProfilerStep", Category::USER_ANNOTATION).with_scope(Scope::UserScope);
    live::step(number);
    let Some(epoch) = state::epoch_if_on(STEP.category().alone().0) else { return SpanGuard::off() };
    begin_on(epoch, STEP.id(), Some(number), &[])
}

#[inline]
fn begin_on(epoch: u32, name: NameId, number: Option<i64>, args: &[(NameId, Value<'_>)]) -> SpanGuard {
    SpanGuard::new(epoch, lane::with(|lane| lane.begin_with(epoch, name, number, args)))
}

/// Begins a span of a name that was interned, by hand; none if it is not recorded.
#[inline]
pub fn begin_raw(name: NameId, args: &[(NameId, Value<'_>)]) -> Option<OpenSpan> {
    let epoch = state::epoch_if_on(names::category_bit(name))?;
    let id = match args {
        [] => lane::with(|lane| lane.begin(epoch, name))?,
        args => lane::with(|lane| lane.begin_with(epoch, name, None, args))?,
    };
    Some(OpenSpan { epoch, id })
}

/// Begins step `number` of the training loop by hand, as [`begin_step`] does; none if it is not recorded.
pub fn begin_step_raw(number: i64) -> Option<OpenSpan> {
    let span = mem::ManuallyDrop::new(begin_step(number));
    (span.epoch != 0).then_some(OpenSpan { epoch: span.epoch, id: span.id })
}

/// Ends a span begun by hand.
#[inline]
pub fn end_raw(span: OpenSpan, args: &[(NameId, Value<'_>)]) {
    // No recording has epoch zero, whatever a caller in C makes of the id.
    if span.epoch != 0 {
        lane::with(|lane| lane.end_with(span.epoch, span.id, args));
    }
}

impl SpanGuard {
    /// A guard of nothing, for when nothing is recorded.
    #[inline(always)]
    pub fn off() -> Self {
        Self { epoch: 0, id: 0, not_send: PhantomData }
    }
}
