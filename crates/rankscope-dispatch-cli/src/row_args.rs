//! Sizes of rows on the command line.

use rankscope_plan_files::plan::MOST_ELEMENTS;

/// Reads a number of elements of a row from the command line.
pub(crate) fn elements() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(MOST_ELEMENTS))
}

/// The same of what rows may do without.
pub(crate) fn elements_or_none() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(MOST_ELEMENTS))
}
