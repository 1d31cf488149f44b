//! A recording's way into files: ours, and those that other tools read.
//!
//! A file appears whole or not at all, and is compressed as its name says. What is not here: the formats themselves, which are
//! rankscope-formats' and what makes this a feature.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use rankscope_formats::recording::{export, packed, to_trace};
use rankscope_formats::{ArgsPolicy, Encoder, Encoding, Format, ReadOptions, xspace};

use crate::recorded::Recorded;
use crate::store::suffixed;

/// The formats a recording can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// The packed recording, `.rkr`.
    Native,
    /// Chrome JSON as Kineto writes it, `.json`.
    KinetoJson,
    /// Perfetto's protobuf, `.pftrace`.
    Perfetto,
    /// XLA's protobuf, `.xplane.pb`. The whole recording is held in memory while it is written.
    XSpace,
}

impl ExportFormat {
    /// The format a file name asks for, compression suffixes aside.
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match Format::of_name(name)? {
            Format::Recording => Self::Native,
            Format::Json => Self::KinetoJson,
            Format::Perfetto => Self::Perfetto,
            Format::XSpace => Self::XSpace,
        })
    }
}

/// Why a recording was not written.
#[derive(Debug, thiserror::Error)]
#[error("{} could not be written: {source}. No partial file was left there", path.display())]
pub struct ExportError {
    /// The file.
    pub path: PathBuf,
    /// What went wrong.
    pub source: rankscope_formats::Error,
}

impl Recorded {
    /// Writes it to `path` in the format of its name: `.rkr`, `.json`, `.pftrace` or `.xplane.pb`, and `.gz` or `.zst` behind that
    /// where it shall be compressed. Unlike in the path of a live file, a `%` stands for itself.
    ///
    /// ```
    /// use rankscope_record::{Session, SessionOptions, record_function};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("rankscope-save-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # std::env::set_current_dir(&folder)?;
    /// let session = Session::start(SessionOptions::default())?;
    /// drop(record_function!("work"));
    /// let recorded = session.stop()?.recorded;
    /// recorded.save("rank0.pftrace")?; // for ui.perfetto.dev
    /// recorded.save("rank0.json.gz")?; // for tools that read PyTorch's traces
    /// recorded.save("rank0.rkr")?; // the smallest, for rankscope
    /// # std::env::set_current_dir("/")?;
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A name of another format, and what [`Recorded::export`] says.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ExportError> {
        let path = path.as_ref();
        let Some(format) = ExportFormat::of_name(&path.to_string_lossy()) else {
            let names = "unknown suffix: use .rkr, .json, .pftrace or .xplane.pb, optionally followed by .gz or .zst";
            let source = io::Error::new(io::ErrorKind::InvalidInput, names).into();
            return Err(ExportError { path: path.to_owned(), source });
        };
        self.export(format, path)
    }

    /// Writes it to `path`, compressed if that ends in `.gz` or `.zst`: beside it first, then renamed.
    ///
    /// # Errors
    /// What the file system refuses; then what was at `path` before is still there.
    pub fn export(&self, format: ExportFormat, path: &Path) -> Result<(), ExportError> {
        write_whole(path, |output| self.export_to(format, output))
    }

    /// Puts the packed recording in the place of the live file it was recorded into, once its last session has stopped. Nothing
    /// happens to one in memory.
    ///
    /// # Errors
    /// As [`Recorded::export`], and where another process has come to record there.
    pub fn pack_in_place(&self) -> Result<(), ExportError> {
        let store = self.store();
        let Some(path) = store.path() else { return Ok(()) };
        if !store.lock_again() {
            let moved = io::Error::other("another process records there now, and has put this recording aside");
            return Err(ExportError { path: path.to_owned(), source: moved.into() });
        }
        let packed = self.export(ExportFormat::Native, path);
        store.unlock();
        packed
    }

    /// Writes it to `output`. Memory is a few chunks, but for XSpace.
    ///
    /// # Errors
    /// What `output` fails with.
    pub fn export_to(&self, format: ExportFormat, output: &mut impl Write) -> Result<(), rankscope_formats::Error> {
        let (recording, cut) = (self.open()?, self.cut());
        match format {
            ExportFormat::Native => packed::write(&recording, cut, output).map(drop),
            ExportFormat::KinetoJson => export::kineto_json(&recording, cut, &export::About::of(&recording), output).map(drop),
            ExportFormat::Perfetto => export::perfetto(&recording, cut, &export::About::of(&recording), output).map(drop),
            ExportFormat::XSpace => {
                let options = ReadOptions::default().with_args(ArgsPolicy::All);
                xspace::write(&to_trace(&recording, cut, &options), output)
            }
        }
    }
}

/// Writes a file that appears whole or not at all, compressed as its name says.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut Encoder<BufWriter<&File>>) -> Result<(), rankscope_formats::Error>,
) -> Result<(), ExportError> {
    let beside = suffixed(path, format_args!(".{}.tmp", std::process::id()));
    let written = write_beside(path, &beside, write).and_then(|()| Ok(std::fs::rename(&beside, path)?));
    written.map_err(|source| {
        let _ = std::fs::remove_file(&beside);
        ExportError { path: path.to_owned(), source }
    })
}

fn write_beside(
    path: &Path,
    beside: &Path,
    write: impl FnOnce(&mut Encoder<BufWriter<&File>>) -> Result<(), rankscope_formats::Error>,
) -> Result<(), rankscope_formats::Error> {
    let file = File::create(beside)?;
    let buffered = BufWriter::with_capacity(1 << 18, &file);
    let mut output = Encoding::of_name(&path.to_string_lossy()).encoder(buffered)?;
    write(&mut output)?;
    output.finish()?;
    // Renamed before it is on the disk, it could be an empty file after a power failure.
    Ok(file.sync_data()?)
}
