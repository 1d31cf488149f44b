//! [`TraceSink`]: what a plugin may add to a recording.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::DeviceSource;
use crate::about::set_metadata;
use crate::events::{counter_f64, counter_i64, instant};
use crate::names::{intern, intern_key};
use crate::scope::Scope;
use crate::value::Value;
use rankscope_recording::Category;
use rankscope_recording::device::DeviceTally;

/// The recording, as a plugin sees it when it exports.
#[derive(Debug)]
pub struct TraceSink<'a> {
    plugin: &'a str,
    files: Option<&'a Path>,
}

impl<'a> TraceSink<'a> {
    pub(super) fn new(plugin: &'a str, files: Option<&'a Path>) -> Self {
        Self { plugin, files }
    }

    /// Adds something to know about the recording: `json` is JSON text; what is not is kept as a text.
    pub fn metadata(&mut self, key: &str, json: &str) {
        set_metadata(&format!("{}.{key}", self.plugin), json);
    }

    /// Adds a whole number, as of now.
    pub fn counter_i64(&mut self, name: &str, value: i64) {
        counter_i64(intern(name, CATEGORY, Scope::UserScope), value);
    }

    /// Adds a number, as of now.
    pub fn counter_f64(&mut self, name: &str, value: f64) {
        counter_f64(intern(name, CATEGORY, Scope::UserScope), value);
    }

    /// Adds a moment, now.
    pub fn instant(&mut self, name: &str, args: &[(&str, Value<'_>)]) {
        let args: Vec<_> = args.iter().map(|(key, value)| (intern_key(key), *value)).collect();
        instant(intern(name, CATEGORY, Scope::UserScope), &args);
    }

    /// Joins what `source` handed over to the spans that caused it, as whoever opens the recording will. What was left out or odd is
    /// put into the metadata, and returned; none where no recording runs, or nothing was handed over.
    pub fn device_work(&mut self, source: &DeviceSource) -> Option<DeviceTally> {
        let tally = source.tally()?;
        self.metadata("device_work", &in_json(&tally));
        Some(tally)
    }

    /// Adds a file beside the recording, whole or not at all; its path is put into the metadata and returned.
    ///
    /// # Errors
    /// Where the session has no place for files, `name` is not the plain name of a file, and what the file system refuses.
    pub fn file(&mut self, name: &str, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<PathBuf> {
        let refused = |reason: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{name}: {reason}"));
        let directory = self.files.ok_or_else(|| refused("this session has no place for files: see Registry::files_in"))?;
        if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
            return Err(refused("not the plain name of a file"));
        }
        fs::create_dir_all(directory)?;
        let path = directory.join(name);
        let unfinished = directory.join(format!(".{name}.{}", std::process::id()));
        let written = fill_file(&unfinished, fill).and_then(|()| fs::rename(&unfinished, &path));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written?;
        self.metadata(&format!("file.{name}"), &path.to_string_lossy());
        Ok(path)
    }
}

/// What plugins add is neither an operator nor a device's: a session that takes moments of the host takes it.
const CATEGORY: Category = Category::CPU_INSTANT_EVENT;

fn in_json(tally: &DeviceTally) -> String {
    let DeviceTally { activities, launches, dropped, oddities: odd, memory, .. } = tally;
    let (lost, odd_memory) = (memory.dropped, memory.oddities);
    format!(
        "{{\"activities\":{activities},\"launches\":{launches},\
         \"dropped\":{{\"out_of_window\":{},\"zero_timestamp\":{}}},\
         \"odd\":{{\"early_starts\":{},\"reversed\":{},\"without_call\":{},\"repeated_calls\":{},\"disputed_calls\":{},\
         \"unknown_ops\":{}}},\
         \"memory\":{{\"events\":{},\"dropped\":{{\"out_of_window\":{},\"zero_timestamp\":{}}},\
         \"odd\":{{\"unknown_frees\":{},\"other_sizes\":{},\"replaced\":{},\"impossible\":{}}}}}}}",
        dropped.out_of_window,
        dropped.zero_timestamp,
        odd.early_starts,
        odd.reversed,
        odd.without_call,
        odd.repeated_calls,
        odd.disputed_calls,
        odd.unknown_ops,
        memory.events,
        lost.out_of_window,
        lost.zero_timestamp,
        odd_memory.unknown_frees,
        odd_memory.other_sizes,
        odd_memory.replaced,
        odd_memory.impossible,
    )
}

fn fill_file(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    fill(&mut file)?;
    file.flush()
}
