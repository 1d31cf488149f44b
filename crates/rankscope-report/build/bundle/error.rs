//! Why the modules do not make a script. All of it is for whoever changes them.

use std::{error, fmt, io};

/// What is wrong, and where.
#[derive(Debug)]
pub(crate) enum Error {
    Read {
        path: String,
        source: io::Error,
    },
    /// Each imports the next, and the last is the first.
    Circle {
        modules: Vec<String>,
    },
    At {
        path: String,
        line: usize,
        what: Offence,
    },
}

/// What a line of a module must not do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Offence {
    /// Not of the little that is understood; what to write instead.
    Syntax(&'static str),
    DeclaredTwice {
        name: String,
        first: String,
    },
    NotExported {
        name: String,
        from: String,
    },
    NotImported {
        name: String,
        from: String,
    },
    Unused {
        name: String,
    },
    /// A pure module that reaches for the browser, or for a module that does.
    Impure {
        name: String,
    },
}

impl Error {
    pub(super) fn at(path: &str, line: usize, what: Offence) -> Self {
        Self::At { path: path.to_owned(), line, what }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } => write!(f, "{path}: {source}"),
            Self::Circle { modules } => write!(f, "modules import each other in a circle: {}", modules.join(" -> ")),
            Self::At { path, line, what } => write!(f, "{path}:{line}: {what}"),
        }
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(instead) => f.write_str(instead),
            Self::DeclaredTwice { name, first } => write!(f, "{name} is declared in {first} as well; rename one of them"),
            Self::NotExported { name, from } => write!(f, "{from} exports no {name}"),
            Self::NotImported { name, from } => {
                write!(f, "{name} belongs to {from}: import it, or give what is meant here another name")
            }
            Self::Unused { name } => write!(f, "{name} is imported and not used"),
            Self::Impure { name } => write!(f, "a module in pure/ may not use {name}: it must run without a browser"),
        }
    }
}

impl error::Error for Error {}
