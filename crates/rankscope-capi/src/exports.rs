//! Recordings into files.

use std::ffi::{OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rankscope_record::{ExportFormat, Recorded};

use crate::guard::answered;
use crate::sessions::{self, Held};
use crate::status::{Error, Status};
use crate::texts::{self, NUL_TERMINATED};

/// Writes what `recording` holds to a file, whole or not at all: that of a session that was stopped, a snapshot, or what a running
/// session has so far. `format` is `"rkr"`, `"json"`, `"pftrace"` or `"xplane.pb"`; null takes it from the end of `path`, which may
/// end in `.gz` or `.zst` to be compressed.
///
/// # Safety
/// Both texts end in zero, and `format` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rankscope_export(recording: u64, format: *const c_char, path: *const c_char) -> Status {
    answered(|| {
        if path.is_null() {
            return Err(Error::Null { argument: "path" });
        }
        // SAFETY: the caller says so.
        let path = Path::new(OsStr::from_bytes(unsafe { texts::bytes("path", path, NUL_TERMINATED) }?));
        let format = if format.is_null() {
            named(&path.to_string_lossy())
        } else {
            // SAFETY: the caller says so.
            let format = unsafe { texts::text("format", format, NUL_TERMINATED) }?;
            named(&format!("recording.{}", format.trim_start_matches('.')))
                .map_err(|_| Error::NoSuchFormat { name: format.into() })
        }?;
        Ok(recorded(recording)?.export(format, path)?)
    })
}

fn named(name: &str) -> Result<ExportFormat, Error> {
    ExportFormat::of_name(name).ok_or_else(|| Error::NoSuchFormat { name: name.to_owned() })
}

fn recorded(handle: u64) -> Result<Recorded, Error> {
    Ok(match sessions::look_up(handle)? {
        Held::Running(session) => session.snapshot()?,
        Held::Joined(run) => run.session().snapshot()?,
        Held::Stopped(stopped) => stopped.recorded.clone(),
        Held::Snapshot(recorded) => recorded,
    })
}
