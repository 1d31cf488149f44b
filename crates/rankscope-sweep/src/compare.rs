//! The command that compares what a sweep measured.

use std::ffi::OsString;
use std::path::Path;

use crate::document::Sweep;

/// `rankscope compare` over the configurations of `sweep`, which lies in `folder`: the base first, which is the first configuration. None
/// where fewer than two configurations have a run that succeeded.
pub fn compare_command(sweep: &Sweep, folder: &Path) -> Option<Vec<OsString>> {
    let measured = sweep.summed().into_iter().filter(|summed| summed.succeeded > 0);
    let folders: Vec<OsString> = measured.map(|summed| folder.join(&summed.configuration.directory).into_os_string()).collect();
    let words = ["rankscope", "compare"].map(OsString::from);
    (folders.len() > 1).then(|| words.into_iter().chain(folders).collect())
}
