//! Spans: guards that end what they began, and the raw halves for callers that have no scope to tie a guard to.

use std::marker::PhantomData;
use std::mem;

use rankscope_formats::recording::NameId;

use crate::names::Site;
use crate::{Category, Scope, Value, lane, state};

/// A span that is open. Its end is recorded when this is dropped, also while a panic unwinds.
///
/// Guards of one thread must go in the reverse order of their making, which is what scopes do by themselves.
#[must_use = "the span ends when its guard is dropped: give it a name like `_span`"]
#[derive(Debug)]
pub struct SpanGuard {
    /// The recording the begin went to; zero if it went nowhere.
    epoch: u32,
    /// A span ends on the thread it began on.
    not_send: PhantomData<*const ()>,
}

/// A span that is open, by hand: end it with [`end_raw`] on the thread that began it, innermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenSpan {
    epoch: u32,
    id: u64,
}

impl SpanGuard {
    #[inline(always)]
    fn new(epoch: u32) -> Self {
        Self { epoch, not_send: PhantomData }
    }

    /// Whether it is recorded.
    pub fn is_recording(&self) -> bool {
        self.epoch != 0
    }

    /// The correlation id of the span that began last on this thread, which is this one right after it was made: thread slot in
    /// the upper 16 bits, a count in the lower 48. None if it is not recorded.
    pub fn correlation_id(&self) -> Option<u64> {
        (self.epoch != 0).then(|| lane::with(lane::Lane::last_id))
    }

    /// Ends it now, with arguments known only now.
    pub fn end_with(self, args: &[(NameId, Value<'_>)]) {
        if self.epoch != 0 {
            lane::with(|lane| lane.end_with(self.epoch, args));
        }
        mem::forget(self);
    }
}

impl Drop for SpanGuard {
    #[inline(always)]
    fn drop(&mut self) {
        if self.epoch != 0 {
            lane::with(|lane| lane.end(self.epoch));
        }
    }
}

impl OpenSpan {
    /// Its correlation id.
    pub fn correlation_id(self) -> u64 {
        self.id
    }
}

/// Begins a span. Off, this is one relaxed load.
#[inline(always)]
pub fn begin(site: &'static Site) -> SpanGuard {
    let Some(epoch) = state::epoch_if_on(site.category().alone().0) else { return SpanGuard::new(0) };
    let name = site.id();
    SpanGuard::new(if lane::with(|lane| lane.begin(epoch, name)) { epoch } else { 0 })
}

/// Begins a span with arguments.
#[inline]
pub fn begin_with(site: &'static Site, args: &[(NameId, Value<'_>)]) -> SpanGuard {
    let Some(epoch) = state::epoch_if_on(site.category().alone().0) else { return SpanGuard::new(0) };
    begin_on(epoch, site.id(), None, args)
}

/// Begins a span whose name was interned with this category.
#[inline]
pub fn begin_named(name: NameId, category: Category, args: &[(NameId, Value<'_>)]) -> SpanGuard {
    let Some(epoch) = state::epoch_if_on(category.alone().0) else { return SpanGuard::new(0) };
    begin_on(epoch, name, None, args)
}

/// Begins step `number` of the training loop: a span called `ProfilerStep#<number>`, as torch calls it.
pub fn begin_step(number: i64) -> SpanGuard {
    static STEP: Site = Site::new("ProfilerStep", Category::USER_ANNOTATION).with_scope(Scope::UserScope);
    let Some(epoch) = state::epoch_if_on(STEP.category().alone().0) else { return SpanGuard::new(0) };
    begin_on(epoch, STEP.id(), Some(number), &[])
}

#[inline]
fn begin_on(epoch: u32, name: NameId, number: Option<i64>, args: &[(NameId, Value<'_>)]) -> SpanGuard {
    SpanGuard::new(if lane::with(|lane| lane.begin_with(epoch, name, number, args)) { epoch } else { 0 })
}

/// Begins a span by hand; none if it is not recorded.
#[inline]
pub fn begin_raw(name: NameId, category: Category, args: &[(NameId, Value<'_>)]) -> Option<OpenSpan> {
    let epoch = state::epoch_if_on(category.alone().0)?;
    lane::with(|lane| lane.begin_with(epoch, name, None, args).then(|| OpenSpan { epoch, id: lane.last_id() }))
}

/// Ends a span begun by hand.
#[inline]
pub fn end_raw(span: OpenSpan, args: &[(NameId, Value<'_>)]) {
    lane::with(|lane| lane.end_with(span.epoch, args));
}

/// Records the scope it stands in: `let _span = record_function!("forward");`, or with arguments,
/// `record_function!("forward", batch = 32, stage = "warm")`.
#[macro_export]
macro_rules! record_function {
    ($name:literal $($rest:tt)*) => {
        $crate::span_at!($name, $crate::Category::USER_ANNOTATION, $crate::Scope::UserScope $($rest)*)
    };
}

/// As [`record_function!`], for an operator of a framework.
#[macro_export]
macro_rules! record_op {
    ($name:literal $($rest:tt)*) => {
        $crate::span_at!($name, $crate::Category::CPU_OP, $crate::Scope::Function $($rest)*)
    };
}

/// As [`record_function!`], of any category and scope.
#[macro_export]
macro_rules! span_at {
    ($name:literal, $category:expr, $scope:expr $(,)?) => {{
        static SITE: $crate::Site = $crate::Site::new($name, $category).with_scope($scope);
        $crate::begin(&SITE)
    }};
    ($name:literal, $category:expr, $scope:expr, $($key:ident = $value:expr),+ $(,)?) => {{
        static SITE: $crate::Site = $crate::Site::new($name, $category).with_scope($scope);
        if $crate::is_on(SITE.category()) {
            $crate::begin_with(&SITE, &[$({
                static KEY: $crate::Site = $crate::Site::key(stringify!($key));
                (KEY.id(), $crate::Value::from($value))
            }),+])
        } else {
            $crate::SpanGuard::off()
        }
    }};
}

impl SpanGuard {
    /// A guard of nothing, for when nothing is recorded.
    #[inline(always)]
    pub fn off() -> Self {
        Self::new(0)
    }
}
