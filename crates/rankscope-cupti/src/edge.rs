//! The functions that CUPTI calls, on threads of the program, of the driver and of its own.
//!
//! They take or give back a buffer, or say which span a launch belongs to, and return. No panic gets through, nothing is locked, no
//! function that waits for a device is called, and nothing here knows what a record is.
#![expect(unsafe_code, reason = "CUPTI calls with pointers of its own")]

use std::ffi::{c_int, c_void};

use rankscope_record::{current_annotation, current_correlation};

use crate::abi::{ApiSite, CallbackData, CompleteInfo, ExternalKind};
use crate::hub::Hub;

/// Does `work` with the hub, unless there is none or it is off; a panic turns it off.
fn guarded(work: impl FnOnce(&'static Hub)) {
    if let Some(hub) = Hub::find() {
        hub.switch.guarded(|| work(hub));
    }
}

/// CUPTI wants a buffer.
///
/// # Safety
/// The three are CUPTI's words for the answer.
pub(crate) unsafe extern "C" fn buffer_requested(buffer: *mut *mut u8, bytes: *mut usize, records_max: *mut usize) {
    let mut answer = (std::ptr::null_mut(), 0);
    guarded(|hub| answer = hub.buffer().unwrap_or(answer));
    // SAFETY: the caller's words. Zero records is as many as there is room for.
    unsafe {
        *buffer = answer.0;
        *bytes = answer.1;
        *records_max = 0;
    }
}

/// CUPTI gives a buffer back.
///
/// # Safety
/// It writes to the buffer no more.
pub(crate) unsafe extern "C" fn buffer_completed(
    _context: *mut c_void,
    _stream: u32,
    buffer: *mut u8,
    _bytes: usize,
    valid_bytes: usize,
) {
    guarded(|hub| hub.take_back(buffer, valid_bytes));
}

/// CUPTI wants a buffer, in the second version of its interface.
///
/// # Safety
/// As [`buffer_requested`].
pub(crate) unsafe extern "C" fn buffer_requested_by_second(
    buffer: *mut *mut u8,
    bytes: *mut usize,
    records_max: *mut usize,
    _info: *const c_void,
) {
    // SAFETY: the caller's words.
    unsafe { buffer_requested(buffer, bytes, records_max) };
}

/// CUPTI gives a buffer back, in the second version of its interface, and says where the fields of its records lie.
///
/// # Safety
/// As [`buffer_completed`]; `info` is null or what CUPTI tells of the buffer.
pub(crate) unsafe extern "C" fn buffer_completed_by_second(
    buffer: *mut u8,
    _bytes: usize,
    valid_bytes: usize,
    info: *const CompleteInfo,
) {
    guarded(|hub| {
        // First, for whoever decodes has the buffer at once.
        if let Some(layouts) = hub.library.layouts() {
            // SAFETY: the caller says so.
            unsafe { layouts.learn(info) };
        }
        hub.take_back(buffer, valid_bytes);
    });
}

/// Stacks on which a call's span was put, as bits in the word that both ends of the call share.
const SPAN: u64 = 1;
const ANNOTATION: u64 = 2;

/// A call into the runtime or the driver begins or ends: what it launches belongs to the span that is open on this thread.
///
/// # Safety
/// `data` is null or what CUPTI tells of a call.
pub(crate) unsafe extern "C" fn call_told(_: *mut c_void, _domain: c_int, _cbid: u32, data: *const CallbackData) {
    // SAFETY: the caller says so; the word that both ends share is the call's own.
    let Some((data, shared)) = (unsafe { data.as_ref().and_then(|data| Some((data, data.correlation_data.as_mut()?))) }) else {
        return;
    };
    guarded(|hub| match ApiSite::of(data.site) {
        Some(ApiSite::Enter) if hub.switch.is_recording() => *shared = enter(hub),
        Some(ApiSite::Exit) => leave(hub, std::mem::take(shared)),
        _ => {}
    });
}

fn enter(hub: &Hub) -> u64 {
    let mut put = 0;
    if let Some(span) = current_correlation() {
        hub.library.push_external(ExternalKind::Spans as c_int, span);
        put |= SPAN;
    }
    if let Some(annotation) = current_annotation() {
        hub.library.push_external(ExternalKind::Annotations as c_int, annotation);
        put |= ANNOTATION;
    }
    put
}

fn leave(hub: &Hub, put: u64) {
    for (bit, kind) in [(ANNOTATION, ExternalKind::Annotations), (SPAN, ExternalKind::Spans)] {
        if put & bit != 0 {
            hub.library.pop_external(kind as c_int);
        }
    }
}
