//! DistCA's functions by their names: a case (a `kind` and its inputs, as golden files keep them) in, the arrays of that kind out;
//! and the check of every value of such an answer, whoever computed it.
//!
//! The functions themselves are in [`rankscope_dispatch`]; here their arguments and results are JSON. Files that a case names
//! are asked for through [`Files`], so nothing here opens a path.
//!
//! ```
//! use std::sync::Arc;
//!
//! use rankscope_conformance::{Case, FileError, Files, Revision, answer};
//!
//! /// A case that names no files needs none.
//! struct NoFiles;
//!
//! impl Files for NoFiles {
//!     fn read(&self, name: &str) -> Result<Vec<u8>, FileError> {
//!         Err(format!("{name} is not there").into())
//!     }
//!     fn write(&self, name: &str, _: &[u8]) -> Result<(), FileError> {
//!         Err(format!("{name} cannot be written").into())
//!     }
//!     fn shown(&self, name: &str) -> String {
//!         name.to_owned()
//!     }
//! }
//!
//! # fn main() -> Result<(), rankscope_conformance::Error> {
//! // Two ranks with a shard of 4 tokens each; the attention of the second goes to rank 0.
//! let case = serde_json::json!({"kind": "compute_metadata", "seq_len": [[4], [4]], "dispatch": [[0], [0]]});
//! let answered = answer(&Case::new(case, Arc::new(NoFiles))?, Revision::Exact)?;
//! assert!(serde_json::to_string(&answered).is_ok_and(|text| text.contains("fwd")));
//! # Ok(())
//! # }
//! ```

mod array;
mod bytes;
mod case;
pub mod check;
mod error;
mod files;
mod functions;
mod json;
mod kinds;
mod lengths;
mod logical;
mod mismatch;
mod npy;
mod planners;
mod simulated;
mod tensor;
mod way;
mod whole;

use std::borrow::Cow;

use serde_json::Value;

use self::array::{Form, Packed};
use self::json::Json;
use self::logical::{metadata_of, raw_of};
use self::way::{Source, Way};

pub use self::case::Case;
pub use self::error::{ArrayError, Error, InputFault, MetadataFault, Must, NpyError, Place, Result, TensorError};
pub use self::files::{FileError, Files};
pub use self::json::Object;
pub use self::kinds::{Input, KINDS, Kind, list};
pub use self::way::Revision;

/// The answer to a case, with the inputs that it does not repeat anyway.
///
/// # Errors
/// [`Error`]: a kind that there is not, an input that is missing or is not what the kind takes, a file that cannot be read.
pub fn answer(case: &Case, revision: Revision) -> Result<Object> {
    answered(case, Way { revision, source: Source::Library })
}

fn answered(case: &Case, way: Way) -> Result<Object> {
    let kind = Kind::named(case.kind()?)?;
    let case = if case.kind()? == kind.name { Cow::Borrowed(case) } else { Cow::Owned(case.with_kind(kind.name)) };
    let mut answer = (kind.answer)(&case, way)?;
    let names = kind.inputs.iter().flat_map(|input| input.0).filter(|name| **name != "cases" && !answer.has(name));
    let inputs: serde_json::Map<String, Value> =
        names.filter_map(|&name| Some((name.to_owned(), case.input(name)?.clone()))).collect();
    if !inputs.is_empty() {
        answer.insert(1, "inputs", Value::from(inputs));
    }
    Ok(answer)
}
