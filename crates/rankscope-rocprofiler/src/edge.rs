//! What a tool calls while a session lasts: with records, on a thread of rocprofiler's, and with a question, on threads of the program.
//!
//! Records are copied into buffers of the pool, and an answer is the span that is open. No panic gets through, nothing is locked, and
//! nothing here knows what a record is about.
#![expect(unsafe_code, reason = "rocprofiler calls with pointers of its own")]

use std::ffi::c_int;

use rankscope_record::{current_annotation, current_correlation};

use crate::abi::{Header, Kind};
use crate::hub::Hub;
use crate::packed::{kept_bytes, pack, packed_bytes};
use crate::tool::Receivers;

/// For the tool.
pub(crate) static RECEIVERS: Receivers = Receivers { records, external };

/// Does `work` with the hub, unless there is none or it is off; a panic turns it off.
fn guarded(work: impl FnOnce(&'static Hub)) {
    if let Some(hub) = Hub::find() {
        hub.switch.guarded(|| work(hub));
    }
}

/// # Safety
/// So many records of rocprofiler's.
unsafe extern "C" fn records(records: *const *const Header, count: usize, dropped: u64) {
    guarded(|hub| {
        hub.note_dropped(dropped);
        if !records.is_null() {
            // SAFETY: the caller says so.
            unsafe { keep(hub, std::slice::from_raw_parts(records, count)) };
        }
    });
}

/// # Safety
/// They are records of rocprofiler's.
unsafe fn keep(hub: &Hub, records: &[*const Header]) {
    let (mut buffer, mut used): (Option<*mut u8>, usize) = (None, 0);
    // SAFETY: the caller says so.
    for header in records.iter().filter_map(|record| unsafe { record.as_ref() }) {
        // SAFETY: as above.
        let kept = unsafe { kept_bytes(header) };
        let bytes = packed_bytes(kept);
        if let Some(full) = buffer
            && used + bytes > hub.buffer_bytes()
        {
            hub.give_back(full, used);
            (buffer, used) = (None, 0);
        }
        buffer = buffer.or_else(|| hub.buffer());
        match buffer {
            Some(buffer) if used + bytes <= hub.buffer_bytes() => {
                // SAFETY: there is room behind what was used, the buffer is this call's, and the record has so many bytes.
                unsafe { pack(buffer.add(used), header, kept) };
                used += bytes;
            }
            _ => hub.refuse(),
        }
    }
    if let Some(buffer) = buffer {
        hub.give_back(buffer, used);
    }
}

/// One id is all that rocprofiler keeps beside a record. Work and the call that launched it have the same number, so that the one brings
/// the span, and the other the range that the program named.
extern "C" fn external(kind: c_int) -> u64 {
    let mut id = 0;
    guarded(|hub| {
        if hub.switch.is_recording() {
            let current = match u32::try_from(kind).ok().and_then(Kind::of) {
                Some(Kind::HipCall) => current_annotation(),
                Some(Kind::Copy | Kind::Dispatch) => current_correlation(),
                Some(Kind::Memory | Kind::Scratch | Kind::GraphCall) | None => None,
            };
            id = current.unwrap_or(0);
        }
    });
    id
}
