//! Keys of a recording's metadata that its readers look for.

/// Under which a recording says through which API it was made, if not the recorder's own.
pub const API: &str = "api";
/// What it says there if that was the Kineto-compatible one.
pub const KINETO_API: &str = "kineto";
/// Under which a recording says how many times a name made up at run time found no room.
pub const NAMES_FULL: &str = "names_full";
