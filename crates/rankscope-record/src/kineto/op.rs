//! [`RecordFunction`]: the scope of an op, with everything a framework knows about it.
//!
//! It records a span as the macros do, and calls the callbacks; when nothing records and nobody is registered it costs two
//! relaxed loads.

use std::cell::Cell;
use std::marker::PhantomData;

use super::callbacks::{self, OpView, Running};
use super::{Input, op_args};
use crate::lane::registry::tid;
use crate::scope::Scope;
use crate::span::{OpenSpan, end_raw};
use crate::state::is_on;
use crate::value::Value;
use rankscope_recording::Category;

/// What a framework knows about an op that begins.
#[derive(Clone, Copy, Debug)]
pub struct Op<'a> {
    /// Its name.
    pub name: &'a str,
    /// Which overload of it; may be empty.
    pub overload_name: &'a str,
    /// Its scope: [`Scope::UserScope`] is an annotation, all others are ops.
    pub scope: Scope,
    /// What autograd numbers it with; −1 for none.
    pub sequence_nr: i64,
    /// For a backward op the [`current_thread_id`] its forward op ran on; zero for none.
    pub forward_thread_id: u64,
    /// What a mobile runtime resolves later; −1 for none.
    pub debug_handle: i64,
    /// Inputs by place.
    pub inputs: &'a [Input<'a>],
    /// Inputs by keyword.
    pub kwinputs: &'a [(&'a str, Value<'a>)],
    /// Frames around it, the innermost last.
    pub call_stack: &'a [&'a str],
    /// Modules around it, the outermost first.
    pub module_hierarchy: &'a [&'a str],
    /// Who runs it; may be empty.
    pub backend: &'a str,
}

impl<'a> Op<'a> {
    /// An op of which only the name is known.
    pub const fn new(name: &'a str) -> Self {
        Self {
            name,
            overload_name: "",
            scope: Scope::Function,
            sequence_nr: -1,
            forward_thread_id: 0,
            debug_handle: -1,
            inputs: &[],
            kwinputs: &[],
            call_stack: &[],
            module_hierarchy: &[],
            backend: "",
        }
    }

    pub(super) fn category(&self) -> Category {
        category(self.scope)
    }

    /// Whether there is nothing but a name.
    pub(super) fn is_bare(&self) -> bool {
        let no_numbers = self.sequence_nr < 0 && self.forward_thread_id == 0 && self.debug_handle < 0;
        let no_inputs = self.inputs.is_empty() && self.kwinputs.is_empty();
        let no_texts = self.overload_name.is_empty() && self.backend.is_empty();
        no_numbers && no_inputs && no_texts && self.call_stack.is_empty() && self.module_hierarchy.is_empty()
    }

    fn view(&self) -> OpView<'_> {
        let Self { name, scope, sequence_nr, forward_thread_id, debug_handle, inputs, .. } = *self;
        OpView { name, scope, sequence_nr, forward_thread_id, debug_handle, handle: 0, inputs, outputs: &[] }
    }
}

fn category(scope: Scope) -> Category {
    if scope == Scope::UserScope { Category::USER_ANNOTATION } else { Category::CPU_OP }
}

/// Whether anybody records or watches ops of `scope`.
#[inline(always)]
fn is_wanted(scope: Scope) -> bool {
    is_on(category(scope)) || callbacks::any()
}

/// An op that is open; it ends when this is dropped, on the thread it began on.
#[must_use = "the op ends when its guard is dropped: give it a name like `_op`"]
pub struct RecordFunction {
    open: Option<OpenSpan>,
    watched: Option<Box<Watched>>,
    not_send: PhantomData<*const ()>,
}

/// An op that callbacks were called for, with what they are told at its end.
struct Watched {
    running: Option<Running>,
    name: Box<str>,
    scope: Scope,
    sequence_nr: i64,
    forward_thread_id: u64,
    debug_handle: i64,
}

impl RecordFunction {
    /// Begins `op`.
    #[inline]
    pub fn begin(op: &Op<'_>) -> Self {
        if is_wanted(op.scope) { Self::begin_cold(op) } else { Self::off() }
    }

    /// Begins an op of which only name and scope are known.
    #[inline]
    pub fn named(name: &str, scope: Scope) -> Self {
        if is_wanted(scope) { Self::begin_cold(&Op { scope, ..Op::new(name) }) } else { Self::off() }
    }

    /// Whether it is recorded.
    pub fn is_recording(&self) -> bool {
        self.open.is_some()
    }

    /// Whether callbacks were called for it: only then are outputs of use.
    pub fn is_watched(&self) -> bool {
        self.watched.is_some()
    }

    /// The number callbacks know it by; zero if none asked for ids.
    pub fn handle(&self) -> u64 {
        self.watched.as_ref().and_then(|watched| watched.running.as_ref()).map_or(0, |running| running.handle)
    }

    /// Its correlation id, if it is recorded.
    pub fn correlation_id(&self) -> Option<u64> {
        self.open.map(OpenSpan::correlation_id)
    }

    /// Ends it, with its outputs for the callbacks that asked for them.
    pub fn end_with_outputs(mut self, outputs: &[Input<'_>]) {
        self.finish(outputs);
    }

    #[inline(always)]
    fn off() -> Self {
        Self { open: None, watched: None, not_send: PhantomData }
    }

    #[cold]
    #[inline(never)]
    fn begin_cold(op: &Op<'_>) -> Self {
        let running = if callbacks::any() { Running::start(&op.view()) } else { None };
        let handle = running.as_ref().map_or(0, |running| running.handle);
        let watched = running.map(|running| {
            let Op { name, scope, sequence_nr, forward_thread_id, debug_handle, .. } = *op;
            let name = name.into();
            Box::new(Watched { running: Some(running), name, scope, sequence_nr, forward_thread_id, debug_handle })
        });
        // Last, so that what the callbacks do is not in the span.
        Self { open: op_args::record(op, handle), watched, not_send: PhantomData }
    }

    fn finish(&mut self, outputs: &[Input<'_>]) {
        // First, for the same reason.
        if let Some(open) = self.open.take() {
            end_raw(open, &[]);
        }
        if let Some(watched) = self.watched.take() {
            watched.end(outputs);
        }
    }
}

impl Drop for RecordFunction {
    #[inline]
    fn drop(&mut self) {
        if self.open.is_some() || self.watched.is_some() {
            self.finish(&[]);
        }
    }
}

impl Watched {
    fn end(mut self, outputs: &[Input<'_>]) {
        let Some(running) = self.running.take() else { return };
        let Self { scope, sequence_nr, forward_thread_id, debug_handle, .. } = self;
        let name = &self.name;
        running.end(&OpView { name, scope, sequence_nr, forward_thread_id, debug_handle, handle: 0, inputs: &[], outputs });
    }
}

/// The number of this thread that [`Op::forward_thread_id`] of a backward op names: the operating system's, as in a trace.
pub fn current_thread_id() -> u64 {
    thread_local!(static OWN: Cell<u64> = const { Cell::new(0) });
    if OWN.get() == 0 {
        OWN.set(tid());
    }
    OWN.get()
}
