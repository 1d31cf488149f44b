//! What keeps a job from being judged, whose fault it is and what to do.

use rankscope_time::Rank;

use crate::words::{list, range};

/// Why a job cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Of all files none is a trace.
    #[error("none of the {files} files found is a trace.{}", first.as_ref().map_or_else(String::new, |first| format!(" The first of them: {first}")))]
    NoTrace {
        /// How many there are.
        files: usize,
        /// The first of them, and what is wrong with it.
        first: Option<String>,
    },
    /// A file that is meant to be a trace cannot be read.
    #[error("{file}: {reason}{}", if *.others { "; pass --partial to go on without it" } else { "" })]
    Unread {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
        /// Whether others could be read.
        others: bool,
    },
    /// Two files are of one rank and one time.
    #[error(
        "{first} and {second} are both rank {rank} at the same time. Give only one of the two, or remove the other (rm); to \
         compare two runs, report on each by itself"
    )]
    RankConflict {
        /// The rank.
        rank: Rank,
        /// One file.
        first: String,
        /// The other.
        second: String,
    },
    /// A rank has several files where only one can be used.
    #[error("{first} and {second} are both rank {rank}, and only one file of each rank can be used here. Name the one to use")]
    RankTwice {
        /// The rank.
        rank: Rank,
        /// One file.
        first: String,
        /// The other.
        second: String,
    },
    /// A window was asked for that is not there.
    #[error("--window {number}: no such window; there {} {}: {}", if all.len() == 1 { "is" } else { "are" }, all.len(), numbered(all))]
    NoWindow {
        /// Its number, from 1.
        number: usize,
        /// First and last step of each that is there, where they are marked.
        all: Vec<Option<(i64, i64)>>,
    },
    /// A step was asked for that is not there.
    #[error(
        "there is no step {step}{}",
        known.map_or_else(
            || ": no steps are marked in the traces. Leave out --step to report on everything".to_owned(),
            |(first, last)| format!("; the traces hold steps {first} to {last}")
        )
    )]
    NoStep {
        /// Its number.
        step: i64,
        /// First and last step that any trace marks.
        known: Option<(i64, i64)>,
    },
    /// A rank was asked for that has no trace.
    #[error("{title}: there is no trace of rank {rank}; there are ranks {}", list(known))]
    NoRank {
        /// What was read.
        title: String,
        /// The rank.
        rank: Rank,
        /// Those with a trace.
        known: Vec<Rank>,
    },
}

fn numbered(all: &[Option<(i64, i64)>]) -> String {
    let named = |(number, steps): (usize, &Option<(i64, i64)>)| {
        steps.map_or_else(|| number.to_string(), |steps| format!("{number} ({})", range(steps)))
    };
    (1..).zip(all).map(named).collect::<Vec<_>>().join(", ")
}
