//! Where a value came from.

use std::fmt;

/// The source of a value, said so that a reader can find and change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// One of the presets.
    Preset(&'static str),
    /// A line of a TOML file.
    Line {
        /// The file.
        file: String,
        /// From 1.
        line: usize,
    },
    /// A place in a JSON file.
    Path {
        /// The file.
        file: String,
        /// Keys from the outside in, joined by dots.
        path: String,
    },
    /// An environment variable.
    Variable(String),
    /// The command line.
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => write!(f, "default"),
            Self::Preset(name) => write!(f, "preset {name}"),
            Self::Line { file, line } => write!(f, "file {file} line {line}"),
            Self::Path { file, path } => write!(f, "file {file} key {path}"),
            Self::Variable(name) => write!(f, "environment {name}"),
            Self::Flag => write!(f, "flag"),
        }
    }
}
