//! [`Source`]: something that is looked at now and then.

use std::time::Instant;

use crate::absent::Absent;

/// Something that is looked at now and then.
pub(crate) trait Source: Send {
    /// What it is called where the recording says that it is absent.
    fn name(&self) -> &str;

    /// Records what it shows now.
    ///
    /// # Errors
    /// It shows nothing any more, and is not looked at again.
    fn look(&mut self, now: Instant) -> Result<(), Absent>;
}

/// A source that was opened, or why there is none, under its name.
pub(crate) type Opened = (&'static str, Result<Box<dyn Source>, Absent>);

/// `opened`, as a source of any kind.
pub(crate) fn of<S: Source + 'static>(name: &'static str, opened: Result<S, Absent>) -> Opened {
    (name, opened.map(|source| Box::new(source) as Box<dyn Source>))
}
