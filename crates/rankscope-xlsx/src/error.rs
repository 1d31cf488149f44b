//! What can go wrong: the disk, or a rule of Excel's that this crate broke.

use std::io;

use rust_xlsxwriter::XlsxError;

/// Why a workbook could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file, or a temporary file that a long table goes through, cannot be written.
    #[error("write the workbook")]
    Io(#[source] io::Error),
    /// Excel would not take it. No document causes this; it is a defect of this crate.
    #[error("put the workbook together")]
    Workbook(#[source] XlsxError),
}

impl From<XlsxError> for Error {
    fn from(error: XlsxError) -> Self {
        match error {
            XlsxError::IoError(error) => Self::Io(error),
            XlsxError::ZipError(error) => Self::Io(io::Error::other(error)),
            error => Self::Workbook(error),
        }
    }
}
