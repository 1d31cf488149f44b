//! The words that the program was called by, for what repeats them. The process's own may be another program's, which carries this one.

use std::ffi::OsString;
use std::sync::OnceLock;

static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();

/// The program was called by `words`. A process is called once.
pub fn by(words: Vec<OsString>) -> &'static [OsString] {
    WORDS.get_or_init(|| words)
}

/// The words, of which the first is the name of the program.
pub fn words() -> &'static [OsString] {
    WORDS.get().map_or(&[], Vec::as_slice)
}
