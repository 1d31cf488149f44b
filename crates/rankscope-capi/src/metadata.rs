//! What a program wants said about itself.

use std::ffi::c_char;

use rankscope_record::{set_metadata, set_process_name, set_thread_name};

use crate::guard::answered;
use crate::status::Status;
use crate::texts;

/// Calls the calling thread something, in the recording that runs and in those to come.
///
/// # Safety
/// `name` has `name_bytes` bytes, or ends in zero if that is `RANKSCOPE_NUL_TERMINATED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_set_thread_name(name: *const c_char, name_bytes: usize) -> Status {
    answered(|| {
        // SAFETY: the caller says so.
        set_thread_name(&unsafe { texts::text("name", name, name_bytes) }?);
        Ok(())
    })
}

/// Calls the process something in the recording that runs.
///
/// # Safety
/// That of `rankscope_set_thread_name`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_set_process_name(name: *const c_char, name_bytes: usize) -> Status {
    answered(|| {
        // SAFETY: the caller says so.
        set_process_name(&unsafe { texts::text("name", name, name_bytes) }?);
        Ok(())
    })
}

/// Adds something to know about the recording that runs: `json` is JSON text; what is not is kept as a text. Without a recording
/// nothing happens.
///
/// # Safety
/// Both texts have so many bytes, or end in zero if that is `RANKSCOPE_NUL_TERMINATED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_set_metadata(
    key: *const c_char,
    key_bytes: usize,
    json: *const c_char,
    json_bytes: usize,
) -> Status {
    answered(|| {
        // SAFETY: the caller says so.
        let (key, json) = unsafe { (texts::text("key", key, key_bytes)?, texts::text("json", json, json_bytes)?) };
        set_metadata(&key, &json);
        Ok(())
    })
}
