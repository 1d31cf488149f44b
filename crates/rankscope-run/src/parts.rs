//! Telling a folder of parts, which `rankscope map` writes, from one of traces. What is in it is the pipeline's.

use std::fs;
use std::path::Path;

use crate::{SideFile, read_side_text};

/// The plan in a folder of parts.
pub const PARTS_PLAN: &str = "plan.json";

/// What the plan of parts has and no other file of that name, such as a plan of `rankscope dispatch`.
const MARK: &str = "\"accounting\"";

/// Whether `path` is a folder of parts. One whose plan is damaged still is, if there is any part.
pub fn is_parts_folder(path: &Path) -> bool {
    let plan = path.join(PARTS_PLAN);
    let is_part = |entry: fs::DirEntry| entry.path().extension().is_some_and(|suffix| suffix == "rkpart");
    plan.is_file()
        && (read_side_text(&plan, SideFile::Parts).is_ok_and(|text| text.contains(MARK))
            || fs::read_dir(path).is_ok_and(|entries| entries.flatten().any(is_part)))
}
