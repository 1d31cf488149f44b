//! Why nothing is forwarded: [`NoVendor`], where there is no library to stand for, and [`NoProfiler`], where it records nothing.

use std::fmt;

/// Why there is no vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoVendor {
    /// Nobody asked for one.
    NotNamed,
    /// The loader does not find it, or refuses.
    NotLoaded { said: String },
    /// It is no library of PJRT.
    NoEntry { name: String },
    /// It is this one.
    Itself { name: String },
    /// What it hands out cannot be forwarded.
    NoTable { name: String, why: NoTable },
}

/// What is wrong with a vendor's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTable {
    /// There is none.
    Null,
    /// It has no version.
    TooOld,
    /// It is of a version that is read otherwise.
    TooNew,
}

impl fmt::Display for NoVendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotNamed => f.write_str("no library is named"),
            Self::NotLoaded { said } => f.write_str(said),
            Self::NoEntry { name } => write!(f, "{name} has no GetPjrtApi: it is no library of PJRT"),
            Self::Itself { name } => write!(f, "{name} is this library itself"),
            Self::NoTable { name, why: NoTable::Null } => write!(f, "{name} hands out no table"),
            Self::NoTable { name, why: NoTable::TooOld } => write!(f, "{name} is of a PJRT that had no versions yet"),
            Self::NoTable { name, why: NoTable::TooNew } => {
                write!(f, "{name} is of a PJRT that nobody has looked at")
            }
        }
    }
}

/// Why a vendor's profiler is not called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoProfiler {
    /// It has none.
    None,
    /// Its extensions come to no end.
    Endless,
    /// It is of another version, and called otherwise.
    Length { has: usize },
    /// A call is missing.
    Lacks { call: &'static str },
}

impl fmt::Display for NoProfiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("it has no profiler"),
            Self::Endless => f.write_str("its extensions come to no end"),
            Self::Length { has } => write!(f, "its profiler has a table of {has} bytes, which is of another version"),
            Self::Lacks { call } => write!(f, "its profiler lacks {call}"),
        }
    }
}
