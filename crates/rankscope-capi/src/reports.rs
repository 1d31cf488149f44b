//! How a session went, in numbers and as JSON.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use rankscope_record::Stopped;

use crate::guard::{answered, guarded};
use crate::sessions::{self, Held};
use crate::status::{Error, Status};
use crate::structures::fill;

/// How a session went. Set `struct_size` first; it then says how much was filled in.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SessionReport {
    /// `sizeof(rankscope_session_report)`.
    pub struct_size: u32,
    /// Threads that recorded something.
    pub threads: u32,
    /// Events of all threads: a span counts once.
    pub events: u64,
    /// Spans among them.
    pub spans: u64,
    /// Events that were lost because there was no room.
    pub dropped: u64,
    /// Events that made room in a ring, as was asked for.
    pub overwritten: u64,
    /// Spans that ended while one that began later was open. Their true end is recorded.
    pub misnested: u64,
    /// Ends of spans that were not open on their thread. They were ignored.
    pub misuse: u64,
    /// Texts, bytes and lists that were too long, and were cut.
    pub values_cut: u64,
    /// Arguments beyond those that an event may have.
    pub arguments_left_out: u64,
    /// Names that were too long, and were cut.
    pub names_cut: u64,
    /// Names made up while the program ran that found no room.
    pub names_full: u64,
    /// Bytes of memory or file that the recording holds.
    pub bytes: u64,
    /// What stopping took.
    pub stop_ns: u64,
    /// Plugins that failed and were switched off; their reasons are in the report as JSON.
    pub plugins_failed: u64,
}

const LEAST: u32 = 112;

/// How a session went that was stopped.
///
/// # Safety
/// `report` is null, or has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_session_get_report(session: u64, report: *mut SessionReport) -> Status {
    answered(|| {
        let stopped = stopped(session)?;
        let from = &stopped.report;
        let ours = SessionReport {
            struct_size: size_of::<SessionReport>() as u32,
            threads: from.threads.len() as u32,
            events: from.events(),
            spans: from.threads.iter().map(|thread| thread.spans).sum(),
            dropped: from.dropped(),
            overwritten: from.overwritten(),
            misnested: from.remarks.misnested,
            misuse: from.remarks.misuse,
            values_cut: from.remarks.values_cut,
            arguments_left_out: from.remarks.arguments_left_out,
            names_cut: from.remarks.names_cut,
            names_full: from.names_full,
            bytes: from.bytes,
            stop_ns: from.phases.stop_ns,
            plugins_failed: from.plugins.len() as u64,
        };
        // SAFETY: the caller says so, and it is what is filled in.
        unsafe { fill(report, &ours, "rankscope_session_report", LEAST) }
    })
}

/// How a session went that was stopped, as JSON: all of it, by thread. The text is the caller's; give it back with
/// `rankscope_text_free`.
///
/// # Safety
/// `json` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_session_report_json(session: u64, json: *mut *mut c_char) -> Status {
    answered(|| {
        if json.is_null() || !json.is_aligned() {
            return Err(Error::Null { argument: "json" });
        }
        let text = serde_json::to_string(&stopped(session)?.report).unwrap_or_default();
        // SAFETY: the caller says so. JSON has no zero byte in it.
        unsafe { json.write(CString::new(text).unwrap_or_default().into_raw()) };
        Ok(())
    })
}

/// Gives back a text that the library handed out. Null is none.
///
/// # Safety
/// `text` is null, or came from `rankscope_session_report_json` and was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_text_free(text: *mut c_char) {
    guarded((), || {
        if !text.is_null() {
            // SAFETY: the caller says so.
            drop(unsafe { CString::from_raw(text) });
        }
    });
}

fn stopped(handle: u64) -> Result<Arc<Stopped>, Error> {
    match sessions::look_up(handle)? {
        Held::Stopped(stopped) => Ok(stopped),
        Held::Running(_) | Held::Joined(_) => Err(Error::Running { handle }),
        Held::Snapshot(_) => Err(Error::NotRunning { handle, wanted: "report on" }),
    }
}
