//! The files that a case names lie beside it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rankscope_conformance::{FileError, Files};

use super::paths;

pub(crate) struct CaseFiles(PathBuf);

impl CaseFiles {
    /// Those of the case at `path`; of one on the standard input, those in the working directory.
    pub(crate) fn beside(path: &Path) -> Arc<dyn Files> {
        Arc::new(Self(path.parent().unwrap_or(Path::new("")).to_owned()))
    }
}

impl Files for CaseFiles {
    fn read(&self, name: &str) -> Result<Vec<u8>, FileError> {
        Ok(paths::bytes(&self.0.join(name))?)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        Ok(paths::write(&self.0.join(name), bytes)?)
    }

    fn shown(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}
