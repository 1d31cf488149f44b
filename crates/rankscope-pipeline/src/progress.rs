//! How far the work has come, told to whoever asked to be.

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Traces are read and mapped.
    Reading,
    /// Traces are read a second time, to be written.
    Writing,
}

/// Told how far the work has come, from several threads.
pub trait Progress: Sync {
    /// `files` are to be worked on.
    fn begin(&self, stage: Stage, files: usize);
    /// One more is done.
    fn advance(&self);
    /// All are, or the work failed.
    fn end(&self);
    /// Large things were let go of: whoever wants to give memory back to the system does so now.
    fn let_go(&self) {}
    /// Whether nobody waits for the answer any more: what is not begun is left, and the work ends as [`Error::Cancelled`].
    ///
    /// [`Error::Cancelled`]: crate::Error::Cancelled
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _: Stage, _: usize) {}
    fn advance(&self) {}
    fn end(&self) {}
}
