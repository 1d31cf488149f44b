//! What is wrong with a configuration, as a sentence that says where and what would be right.

use std::fmt;

use crate::Origin;

/// Something in a source that has no effect, or not the one its author had in mind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Complaint {
    /// The file cannot be read or is neither TOML nor JSON; the file is ignored.
    BadFile {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A key or variable that no setting answers to.
    Unknown {
        /// As written.
        name: String,
        /// Where.
        origin: Origin,
        /// The right name that is nearest, if one is near.
        nearest: Option<String>,
    },
    /// A key in a section that is not its own.
    Misplaced {
        /// The key.
        name: &'static str,
        /// Where it stands.
        origin: Origin,
        /// Where it belongs.
        section: &'static str,
    },
    /// A value that the setting cannot take. The next lower layer holds.
    BadValue {
        /// The key.
        name: &'static str,
        /// The value as written.
        text: String,
        /// Where.
        origin: Origin,
        /// What would be right.
        allowed: String,
    },
    /// One setting by two names in one layer, with two values. The first holds.
    Disagree {
        /// The key.
        name: &'static str,
        /// The value that holds, and where it stands.
        held: (String, Origin),
        /// The other.
        other: (String, Origin),
    },
    /// Values that are right one by one and wrong together.
    Together(String),
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadFile { file, reason } => write!(f, "file {file}: {reason}; the file is ignored"),
            Self::Unknown { name, origin, nearest } => {
                match origin {
                    Origin::Variable(_) => write!(f, "environment: {name} is not a rankscope variable")?,
                    _ => write!(f, "{origin}: {name} is not a setting")?,
                }
                nearest.as_ref().map_or(Ok(()), |nearest| write!(f, "; did you mean {nearest}?"))
            }
            Self::Misplaced { name, origin, section } => {
                write!(f, "{origin}: {name} belongs in [{section}] or at the top level; it is not used here")
            }
            Self::BadValue { name, text, origin, allowed } => {
                write!(f, "{origin}: {name} cannot be {text:?}; it takes {allowed}")
            }
            Self::Disagree { name, held, other } => {
                let ((value, origin), (second, place)) = (held, other);
                write!(f, "{name} is {value} from {origin} and {second} from {place}; the first is used")
            }
            Self::Together(text) => f.write_str(text),
        }
    }
}
