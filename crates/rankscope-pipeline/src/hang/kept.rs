//! A folder with everything that was told, for whoever looks at it when the job is gone.

use std::io::{self, Write as _};
use std::path::Path;

use rankscope_document::HangDocument;
use rankscope_run::write_file;

use crate::Error;

/// Where it goes, if anywhere.
pub(super) struct Keeping<'a>(Option<&'a Path>);

impl<'a> Keeping<'a> {
    /// Keeps all in `folder`, which is made.
    pub(super) fn of(folder: Option<&'a Path>) -> Result<Self, Error> {
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).map_err(|error| io_error(folder, error))?;
        }
        Ok(Self(folder))
    }

    pub(super) fn file(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let Some(folder) = self.0 else { return Ok(()) };
        let path = folder.join(name);
        write_file(&path, |file| file.write_all(bytes).map_err(|error| io_error(&path, error)))?;
        Ok(())
    }

    /// A file as it is now.
    pub(super) fn copy(&self, name: &str, path: &Path) -> Result<(), Error> {
        let Some(folder) = self.0 else { return Ok(()) };
        std::fs::copy(path, folder.join(name)).map_err(|error| io_error(path, error))?;
        Ok(())
    }

    pub(super) fn verdict(&self, document: &HangDocument) -> Result<(), Error> {
        if self.0.is_none() {
            return Ok(());
        }
        // Text and numbers become JSON.
        let text = serde_json::to_vec_pretty(document).unwrap_or_default();
        self.file("verdict.json", &text)
    }
}

fn io_error(path: &Path, reason: io::Error) -> rankscope_run::Error {
    rankscope_run::Error::Io { path: path.to_owned(), reason }
}
