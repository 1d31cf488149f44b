//! Python pickles of plain data, protocols 2 to 5, read without running anything.
//!
//! A pickle is a program for a small stack machine, and some of its instructions import modules and call what they find there.
//! This machine has none of those: numbers, text, bytes, lists, tuples, dicts and sets are all that it makes, and every other
//! instruction is refused by name, with its offset. So a file from anybody can be opened.
//!
//! Nothing recurses, and nothing is copied: what a pickle refers to twice is there once, so a small file cannot stand for more than it
//! has. Memory grows with the file ([`Limits`]), never with a length that the file claims.
//!
//! # Example
//!
//! ```
//! // pickle.dumps({"rank": 3, "sizes": [1, 2]}, protocol=2)
//! let bytes = b"\x80\x02}q\x00(X\x04\x00\x00\x00rankq\x01K\x03X\x05\x00\x00\x00sizesq\x02]q\x03(K\x01K\x02eu.";
//! let pickle = rankscope_pickle::read(bytes).unwrap();
//! let root = pickle.root();
//! assert_eq!(root.get("rank").unwrap().as_i64(), Some(3));
//! assert_eq!(root.get("sizes").unwrap().items().filter_map(|size| size.as_i64()).sum::<i64>(), 3);
//! // os.system, which a pickle can call:
//! let error = rankscope_pickle::read(b"\x80\x02cos\nsystem\n.").unwrap_err();
//! assert_eq!(error.to_string(), "instruction GLOBAL at byte 2: only plain data is read, and nothing is imported or called");
//! ```

mod error;
mod input;
mod machine;
mod opcode;
mod value;

pub use error::Error;
pub use machine::Limits;
pub use value::{ContainerId, Kind, Pickle, Value};

/// The pickle that `bytes` begin with.
///
/// # Errors
/// What is no pickle, is cut, holds more than plain data, or goes over a limit.
pub fn read(bytes: &[u8]) -> Result<Pickle<'_>, Error> {
    machine::Machine::new(bytes, Limits::of(bytes)).run()
}
