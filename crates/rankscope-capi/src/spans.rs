//! Spans. What the header inlines has looked at the switch already; here it is looked at once more, for who calls without.

use rankscope_record::{NameId, OpenSpan, begin_raw, begin_step_raw, end_raw};

use crate::arguments::{self, Arg};
use crate::guard::{counted, guarded};
use crate::sites::{self, Site};

/// Begins a span. Use `rankscope_begin`, which makes no call when nothing is recorded.
///
/// # Safety
/// `site` is null or a site.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_begin_at(site: *mut Site) -> OpenSpan {
    counted(OpenSpan::NONE, || {
        // SAFETY: the caller says so.
        let id = unsafe { sites::id(site) }?;
        Some(begin_raw(id, &[]).unwrap_or(OpenSpan::NONE))
    })
}

/// Begins a span with arguments. Use `rankscope_begin_with`.
///
/// # Safety
/// `site` is null or a site, and `args` has `count` arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_begin_at_with(site: *mut Site, args: *const Arg, count: usize) -> OpenSpan {
    counted(OpenSpan::NONE, || {
        // SAFETY: the caller says so.
        let id = unsafe { sites::id(site) }?;
        // SAFETY: the caller says so.
        unsafe { begin(id, args, count) }
    })
}

/// Begins a span of a name from `rankscope_intern`, with arguments.
///
/// # Safety
/// `args` has `count` arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_begin_named(name: u32, args: *const Arg, count: usize) -> OpenSpan {
    counted(OpenSpan::NONE, || {
        let id = (1..=NameId::MAX).contains(&name).then_some(NameId(name))?;
        // SAFETY: the caller says so.
        unsafe { begin(id, args, count) }
    })
}

/// # Safety
/// `args` has `count` arguments.
unsafe fn begin(name: NameId, args: *const Arg, count: usize) -> Option<OpenSpan> {
    // SAFETY: the caller says so.
    unsafe { arguments::with(args, count, |args| begin_raw(name, args).unwrap_or(OpenSpan::NONE)) }
}

/// Begins step `number` of a training loop: a span called `ProfilerStep#<number>`, as PyTorch calls it, by which tools find steps.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_begin_step(number: i64) -> OpenSpan {
    guarded(OpenSpan::NONE, || begin_step_raw(number).unwrap_or(OpenSpan::NONE))
}

/// Ends a span, once, on the thread that began it. Use `rankscope_end`. One that is not open is ignored and counted.
#[unsafe(no_mangle)]
pub extern "C" fn rankscope_end_span(span: OpenSpan) {
    guarded((), || end_raw(span, &[]));
}

/// Ends a span with arguments that are known only now. Use `rankscope_end_with`. The span ends also where they are no arguments.
///
/// # Safety
/// `args` has `count` arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_end_span_with(span: OpenSpan, args: *const Arg, count: usize) {
    counted((), || {
        // SAFETY: the caller says so.
        let ended = unsafe { arguments::with(args, count, |args| end_raw(span, args)) };
        if ended.is_none() {
            end_raw(span, &[]);
        }
        ended
    });
}
