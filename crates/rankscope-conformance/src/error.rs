//! What can be wrong with a case, its arrays and its files. Every message names the input, the array or the file.

use std::fmt;
use std::io;
use std::num::{ParseIntError, TryFromIntError};
use std::str::Utf8Error;

use rankscope_dispatch::movement::ElementType;
use rankscope_plan_files::plan::PlanError;
use serde_json::Value;
use thiserror::Error;

use crate::files::FileError;

/// An outcome of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a case has no answer, or an answer cannot be checked. The fault is the case's, but for [`Self::File`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// Something else where a case must be.
    #[error("a case is an object with `kind` and the inputs of that kind")]
    NotAnObject,
    /// A case that does not say what function it is for.
    #[error("the case has no `kind`")]
    NoKind,
    /// Something else where the name of a kind must be.
    #[error("`kind` is no text")]
    KindIsNoText,
    /// A kind that there is not.
    #[error(
        "no kind is called {name}{}; `rankscope dispatch metadata --list` names them all",
        nearest.map_or(String::new(), |kind| format!(" (did you mean {kind}?)"))
    )]
    UnknownKind {
        /// The name in the case.
        name: String,
        /// The kind that was most likely meant.
        nearest: Option<&'static str>,
    },
    /// An input that the kind needs.
    #[error("the input `{name}` is missing")]
    MissingInput {
        /// Its name.
        name: String,
    },
    /// An input that is not what the kind takes.
    #[error("the input `{name}` {fault}")]
    Input {
        /// Its name.
        name: String,
        /// What is wrong with it.
        #[source]
        fault: InputFault,
    },
    /// Something is wrong inside something else.
    #[error("{place}: {source}")]
    At {
        /// Where.
        place: Place,
        /// What.
        source: Box<Error>,
    },
    /// JSON of another shape.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A list of lengths that is none.
    #[error("lengths are whole numbers below 2^32: {0}")]
    Lengths(#[source] serde_json::Error),
    /// An array that cannot be read or written.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// A .npy file that cannot be read.
    #[error(transparent)]
    Npy(#[from] NpyError),
    /// A tensor that cannot be moved.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// Metadata whose arrays do not belong together.
    #[error("`metadata`: {0}")]
    Metadata(#[source] MetadataFault),
    /// A file that an answer names, and that is not what the metadata and the input make it.
    #[error("{file}: byte {at} is not what the metadata and the input make it")]
    WrongFile {
        /// Its name.
        file: String,
        /// The first byte that differs.
        at: usize,
    },
    /// A file that could not be read or written.
    #[error(transparent)]
    File(FileError),
    /// What the library refuses.
    #[error(transparent)]
    Plan(#[from] rankscope_dispatch::Error),
    /// Documents beyond the bounds of plans.
    #[error(transparent)]
    PlanFile(#[from] PlanError),
    /// Neither inputs nor metadata in pairs.
    #[error("nothing to check: no metadata with their reverse{}", because(missing.as_deref()))]
    NothingToCheck {
        /// The input for want of which nothing was computed.
        missing: Option<String>,
    },
    /// Inputs alone, of a kind that says nothing of who computes what.
    #[error("the inputs of {kind}, and no answer to check; `rankscope dispatch metadata --format json` gives one")]
    NoAnswer {
        /// The kind.
        kind: &'static str,
    },
}

impl Error {
    /// What is wrong, without the places it lies in.
    #[must_use]
    pub fn cause(&self) -> &Self {
        match self {
            Self::At { source, .. } => source.cause(),
            error => error,
        }
    }
}

/// That inputs are missing, as the end of a sentence.
pub(crate) fn because(missing: Option<&str>) -> String {
    let name = |name| format!("; the inputs are not in the file: the input `{name}` is missing");
    missing.map_or(String::new(), name)
}

/// What something lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// An input.
    Input(String),
    /// An input that must be an object.
    Object(String),
    /// A case in a list of cases.
    Case {
        /// The name of the list.
        list: String,
        /// Which, from 0.
        at: usize,
    },
    /// An entry of an input.
    Entry {
        /// The name of the input.
        list: String,
        /// Which, from 0.
        at: usize,
    },
    /// The metadata of a case.
    Metadata,
    /// A part of an answer, or a file.
    Named(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(name) => write!(f, "the input `{name}`"),
            Self::Object(name) => write!(f, "the input `{name}` is no object"),
            Self::Case { list, at } => write!(f, "{list}, entry {at}"),
            Self::Entry { list, at } => write!(f, "the input `{list}`, entry {at}"),
            Self::Metadata => f.write_str("`metadata`"),
            Self::Named(name) => f.write_str(name),
        }
    }
}

/// Results that lie in something.
pub(crate) trait At<T> {
    /// Adds the place to an error.
    fn at(self, place: impl FnOnce() -> Place) -> Result<T>;
}

impl<T, E: Into<Error>> At<T> for std::result::Result<T, E> {
    fn at(self, place: impl FnOnce() -> Place) -> Result<T> {
        self.map_err(|error| Error::At { place: place(), source: Box::new(error.into()) })
    }
}

/// What is wrong with an input; each reads after its name.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputFault {
    /// Rows of integers are asked for.
    #[error("is no list of lists of integers: {0}")]
    NoRows(#[source] serde_json::Error),
    /// Another value.
    #[error("is {value} and must be {must}")]
    Value {
        /// What is there.
        value: Value,
        /// What is taken.
        must: Must,
    },
    /// A list is asked for.
    #[error("is no list")]
    NoList,
    /// A number is asked for.
    #[error("is no number")]
    NoNumber,
    /// Lists by rank are asked for.
    #[error("must be a list per rank")]
    NoListPerRank,
    /// The name of a file is asked for.
    #[error("must be the name of a file")]
    NoFileName,
    /// The name of a file for the output is asked for.
    #[error("is missing: it names the file for the output")]
    NoOutputFile,
    /// Lengths are asked for.
    #[error("is missing")]
    NotGiven,
    /// Tokens are asked for.
    #[error("is missing or no number of tokens")]
    NoTokens,
    /// A tensor of too few axes.
    #[error("has {found} axes; ranks, tokens and the rest of a row are asked for")]
    Axes {
        /// Axes it has.
        found: usize,
    },
    /// A tensor of another job.
    #[error("has {ranks} ranks, and the metadata {metadata}")]
    Ranks {
        /// Ranks of the tensor.
        ranks: usize,
        /// Ranks of the metadata.
        metadata: usize,
    },
    /// A rank that there is not.
    #[error("is {rank}, of {world_size} ranks")]
    Rank {
        /// Which.
        rank: u32,
        /// Ranks of the metadata.
        world_size: usize,
    },
}

/// What an input must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Must {
    /// A count of 32 bits.
    Count,
    /// A seed.
    Seed,
    /// Yes or no.
    Flag,
    /// How lengths are drawn.
    Mode,
}

impl fmt::Display for Must {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Count => "a whole number below 2^32",
            Self::Seed => "a whole number of 64 bits",
            Self::Flag => "true or false",
            Self::Mode => "\"documented\" or \"valid\"",
        })
    }
}

/// Why an array cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// None of the forms of arrays.
    #[error("neither a list, nor a packed array, nor the name of a .npy file")]
    NoForm,
    /// An entry that is no integer.
    #[error("an entry is no whole number of 64 bits")]
    NoInteger,
    /// Rows of different lengths.
    #[error("a row of {length} where the first has {first}")]
    Ragged {
        /// The length of the row.
        length: usize,
        /// That of the first.
        first: usize,
    },
    /// A value where rows are.
    #[error("{value} where a list is expected")]
    NoList {
        /// The value.
        value: Value,
    },
    /// A row where values are.
    #[error("a list where the first row has a number")]
    TooDeep,
    /// A packed array without a shape.
    #[error("a packed array needs a `shape`")]
    NoShape,
    /// Packed values that are no text.
    #[error("`zlib_b64_i32le` is no text")]
    NoText,
    /// Packed values that are no base64.
    #[error(transparent)]
    Base64(#[from] base64::DecodeError),
    /// A packed array beyond what is unpacked.
    #[error("a packed array of shape {shape:?} is too large")]
    TooLarge {
        /// Its shape.
        shape: Vec<usize>,
    },
    /// Packed values that cannot be unpacked.
    #[error("not zlib: {0}")]
    Zlib(#[source] io::Error),
    /// Packed values that end within one.
    #[error("{bytes} bytes are no whole number of 32-bit values")]
    HalfValue {
        /// How many there are.
        bytes: usize,
    },
    /// A value that does not fit the packed form.
    #[error("{value} cannot be packed into 32 bits: {source}")]
    Wide {
        /// The value.
        value: i64,
        /// Why not.
        source: TryFromIntError,
    },
}

/// Why a .npy file cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NpyError {
    /// Another file.
    #[error("not a .npy file")]
    NotNpy,
    /// A later layout.
    #[error("a version of .npy that is not known here")]
    Version,
    /// The file ends in its header.
    #[error("the header is cut off")]
    CutOff,
    /// A header of other bytes.
    #[error("the header is no text: {0}")]
    HeaderIsNoText(#[source] Utf8Error),
    /// A structured type.
    #[error("values of several fields; one array of one type is taken")]
    Fields,
    /// Fortran order.
    #[error("columns lie first in it; save it after numpy.ascontiguousarray")]
    ColumnsFirst,
    /// A header without a shape.
    #[error("no shape")]
    NoShape,
    /// A shape that is none.
    #[error("the shape ({text}): {source}")]
    Shape {
        /// What the header says.
        text: String,
        /// What is wrong with it.
        source: ParseIntError,
    },
    /// Objects, texts or dates.
    #[error("values of type {descr}; numbers are taken")]
    NotNumbers {
        /// The type, as numpy writes it.
        descr: String,
    },
    /// A type that cannot be understood.
    #[error("the type {descr} is not known here")]
    UnknownType {
        /// The type, as numpy writes it.
        descr: String,
    },
    /// More or fewer values than the shape asks for.
    #[error("{bytes} bytes; the shape {shape:?} of {element_bytes} bytes each asks for another number")]
    Size {
        /// Bytes of all values.
        bytes: usize,
        /// The shape.
        shape: Vec<usize>,
        /// Bytes of a value.
        element_bytes: usize,
    },
    /// Values that are no integers, where metadata are read.
    #[error("values of type {descr}; integers are asked for")]
    NotIntegers {
        /// The type, as numpy writes it.
        descr: String,
    },
}

/// Why a tensor cannot be moved.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TensorError {
    /// An output beyond what is held in memory.
    #[error("an output of shape {shape:?} is too large")]
    Output {
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A list that is to be written as a file.
    #[error("`write_to` is for an `input` that is a file")]
    ListIntoFile,
    /// A file without a header, of which something is not said.
    #[error("`input`: `{key}` is missing")]
    Missing {
        /// What.
        key: &'static str,
    },
    /// A type that there is not.
    #[error(
        "`input`: no dtype is called {name}; one of {}, or numpy's and torch's names of these",
        ElementType::ALL.map(ElementType::as_str).join(", ")
    )]
    UnknownType {
        /// Its name.
        name: String,
    },
    /// A shape that is none.
    #[error("`input`: `shape` must be a list of lengths: {0}")]
    Shape(#[source] serde_json::Error),
    /// More tokens than are moved one by one.
    #[error("too many tokens to move one by one")]
    Tokens,
    /// More elements than are moved there and back.
    #[error("tensors of that size are too large to be moved")]
    Elements,
    /// Metadata that reach further than 32 bits count.
    #[error("offsets beyond 2^32 tokens: {0}")]
    Reach(#[source] TryFromIntError),
}

/// How the arrays of metadata do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MetadataFault {
    /// Arrays without rows.
    #[error("no ranks")]
    NoRanks,
    /// A shape that the others do not imply.
    #[error("`{array}` has the shape {found:?}, and {asked:?} is asked for")]
    Shape {
        /// The array.
        array: &'static str,
        /// Its shape.
        found: Vec<usize>,
        /// What the others imply.
        asked: Vec<usize>,
    },
    /// An array of fewer rows than ranks.
    #[error("`{array}` has not a row per rank")]
    Rows {
        /// The array.
        array: &'static str,
    },
    /// Totals of another number of ranks.
    #[error("`num_total_recv_tokens` has {entries} entries for {ranks} ranks")]
    Totals {
        /// How many there are.
        entries: usize,
        /// Ranks of the metadata.
        ranks: usize,
    },
}
