//! The files that a case names: arrays in .npy files, tensors to be moved and their outputs.

/// Why a file could not be read or written.
pub type FileError = Box<dyn std::error::Error + Send + Sync>;

/// Whoever knows where the files of a case are. Names are as the case has them.
pub trait Files: Send + Sync {
    /// All of a file.
    ///
    /// # Errors
    /// Whatever keeps it from being read, its size among others.
    fn read(&self, name: &str) -> Result<Vec<u8>, FileError>;

    /// Writes a file whole or not at all.
    ///
    /// # Errors
    /// Whatever keeps it from being written.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), FileError>;

    /// What messages call the file.
    fn shown(&self, name: &str) -> String;
}
