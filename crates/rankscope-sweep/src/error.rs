//! What is wrong with a sweep as it was asked for, or with the document of one. Each message says what to write instead.

use crate::resume::Difference;

/// A sweep that cannot be planned or gone on with.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing to vary.
    #[error("nothing to vary: give --set NAME=VALUE,VALUE, --case LABEL:NAME=VALUE or --preset")]
    NothingToVary,
    /// No name of a variable.
    #[error("{text}: this begins with no variable: write NAME=VALUE, with letters, digits and `_` in the name")]
    NoVariable {
        /// As given.
        text: String,
    },
    /// A variable that each run gets from rankscope.
    #[error("{name}: rankscope sets this variable for each run, so a sweep cannot")]
    Reserved {
        /// Its name.
        name: String,
    },
    /// A list with nothing between two commas.
    #[error(
        "{text}: one of the values is empty. Remove the comma, write `\\,` for a comma in a value, or set an empty value with --case"
    )]
    EmptyValue {
        /// As given.
        text: String,
    },
    /// A character that no environment holds.
    #[error("{name}: a value must not contain a NUL character")]
    Nul {
        /// The variable.
        name: String,
    },
    /// The same value twice.
    #[error("{name}={value} is given twice; use --repeat to run a configuration several times")]
    SameValue {
        /// The variable.
        name: String,
        /// The value.
        value: String,
    },
    /// The same variable twice.
    #[error("{name} is set twice in one configuration. List its values in one place: --set {name}=VALUE,VALUE")]
    SameVariable {
        /// The variable.
        name: String,
    },
    /// A case without a label.
    #[error("{text}: a case is LABEL:NAME=VALUE,NAME=VALUE, and this has no label")]
    NoLabel {
        /// As given.
        text: String,
    },
    /// Two configurations with one label.
    #[error("two configurations are called {label}. Give each --case its own label{hint}", hint = if label == "base" { "; --base takes `base`" } else { "" })]
    SameLabel {
        /// The label.
        label: String,
    },
    /// No such preset.
    #[error(
        "{text}: no such preset. Known: rccl-warp-speed:CUxTHREADS,CUxTHREADS, such as rccl-warp-speed:56x256,37x384,32x512"
    )]
    NoPreset {
        /// As given.
        text: String,
    },
    /// More than anybody means.
    #[error(
        "{configurations} configurations, {repeat} times each, are more than {max} runs. Give fewer values, or name configurations with --case"
    )]
    TooMany {
        /// How many configurations.
        configurations: usize,
        /// How often each.
        repeat: u32,
        /// The bound.
        max: usize,
    },
    /// A word that JSON cannot hold.
    #[error("{word}: the words of the command must be UTF-8, because the sweep writes them down")]
    NotText {
        /// As far as it can be shown.
        word: String,
    },
    /// The document cannot be read.
    #[error("damaged at line {line}, column {column}: {reason}")]
    Damaged {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The document is of a later version.
    #[error("written by a later version (schema {schema}, this program knows up to {known}). Update rankscope", known = crate::SCHEMA)]
    LaterSchema {
        /// What it says.
        schema: u32,
    },
    /// Another sweep.
    #[error("this is another sweep: {}. Repeat the command as it was, or give another directory with --out", listed(.0))]
    Different(Vec<Difference>),
}

fn listed(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
