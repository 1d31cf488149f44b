//! [`InSpan`]: futures as spans, for programs without `tracing`.
//!
//! A guard that is kept over an `.await` lies on a thread that meanwhile runs other tasks, and may be dropped on another one. So
//! a future is wrapped instead: every poll is a slice of the thread that polls, the slices are steps of one flow, and once the
//! future has waited the whole of it is an async span.
#![expect(unsafe_code, reason = "a wrapper of a future has to hand its pin on")]

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::kept_args::KeptArgs;
use crate::life::Life;
use crate::names::{Site, intern};
use crate::scope::Scope;
use crate::span::{SpanGuard, begin_named};
use crate::state::is_on;
use crate::ticks;
use crate::value::Value;
use rankscope_recording::{Category, NameId};

/// Records futures.
pub trait InSpan: Future + Sized {
    /// The same future, recorded as `name`: each poll is a slice of the thread that polls, the slices are linked, and a future
    /// that had to wait is an async span from here to its end. One that is dropped before its end says `cancelled = true`.
    /// While nothing is recorded, a poll costs a relaxed load.
    ///
    /// A text is interned at the first poll that is recorded, under a lock; [`in_span!`](crate::in_span) does that once per call
    /// site, and takes arguments.
    ///
    /// ```
    /// use rankscope_record::InSpan;
    ///
    /// async fn fetch(id: u32) -> u32 {
    ///     // No guard here: it would be open while other tasks of this thread run.
    ///     id * 2
    /// }
    ///
    /// async fn both() -> u32 {
    ///     fetch(1).in_span("first").await + fetch(2).in_span("second").await
    /// }
    /// # let _ = both();
    /// ```
    fn in_span(self, name: impl Into<SpanName>) -> SpanFuture<Self> {
        SpanFuture { work: Work::new(name.into()), future: self }
    }
}

impl<F: Future> InSpan for F {}

/// What a [`SpanFuture`] is called.
#[derive(Debug)]
pub struct SpanName(Name);

#[derive(Debug)]
enum Name {
    Site(&'static Site),
    Static(&'static str),
    Owned(String),
}

impl From<&'static Site> for SpanName {
    fn from(site: &'static Site) -> Self {
        Self(Name::Site(site))
    }
}

impl From<&'static str> for SpanName {
    fn from(name: &'static str) -> Self {
        Self(Name::Static(name))
    }
}

impl From<String> for SpanName {
    fn from(name: String) -> Self {
        Self(Name::Owned(name))
    }
}

impl SpanName {
    fn category(&self) -> Category {
        match self.0 {
            Name::Site(site) => site.category(),
            Name::Static(_) | Name::Owned(_) => Category::USER_ANNOTATION,
        }
    }

    fn id(&self) -> NameId {
        let find = |text: &str| intern(text, Category::USER_ANNOTATION, Scope::UserScope);
        match &self.0 {
            Name::Site(site) => site.id(),
            Name::Static(text) => find(text),
            Name::Owned(text) => find(text),
        }
    }
}

/// A future that is recorded; see [`InSpan::in_span`].
#[must_use = "futures do nothing unless they are polled"]
#[derive(Debug)]
pub struct SpanFuture<F> {
    work: Work,
    future: F,
}

impl<F> SpanFuture<F> {
    /// Gives it arguments, for each poll and for the whole.
    pub fn with_args(mut self, args: KeptArgs) -> Self {
        self.work.args = args;
        self
    }
}

impl<F: Future> Future for SpanFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the inner future is pinned as its owner is: it is never moved out, neither type implements `Drop` over it or
        // `Unpin` by hand, and it is dropped in its place. What is beside it was never pinned.
        let (work, future) = unsafe {
            let this = self.get_unchecked_mut();
            (&mut this.work, Pin::new_unchecked(&mut this.future))
        };
        let slice = work.enter();
        let polled = future.poll(context);
        if slice.is_recording() {
            work.polled(polled.is_ready());
        }
        polled
    }
}

/// All of it but the future.
#[derive(Debug)]
struct Work {
    name: SpanName,
    args: KeptArgs,
    created_tick: Option<u64>,
    life: Option<Life>,
}

impl Work {
    fn new(name: SpanName) -> Self {
        let created_tick = is_on(name.category()).then(ticks);
        Self { name, args: KeptArgs::default(), created_tick, life: None }
    }

    #[inline]
    fn enter(&mut self) -> SpanGuard {
        if is_on(self.name.category()) { self.begin() } else { SpanGuard::off() }
    }

    fn begin(&mut self) -> SpanGuard {
        let Self { name, args, created_tick, life } = self;
        let life = life.get_or_insert_with(|| Life::new(name.id(), created_tick.unwrap_or_else(ticks)));
        let slice = args.lend(0, |args| begin_named(life.name(), args));
        if let Some(id) = slice.correlation_id() {
            life.entered(id, args);
        }
        slice
    }

    /// What there is to say while the slice of a poll is still open.
    fn polled(&mut self, is_ready: bool) {
        if is_ready {
            self.end();
        } else if let Some(life) = &mut self.life {
            // Said as soon as it is known: a program that is killed while it waits has it in its recording.
            life.show(&self.args);
        }
    }

    fn end(&mut self) {
        if let Some(life) = self.life.take() {
            life.end(false, &self.args);
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.life.is_some() {
            static CANCELLED: Site = Site::key("cancelled");
            self.args.push(CANCELLED.id(), Value::Bool(true));
            self.end();
        }
    }
}
