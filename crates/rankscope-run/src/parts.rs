//! Telling a folder of parts, which `rankscope map` writes, from one of traces. What is in it is the pipeline's.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::open;

/// The plan in a folder of parts.
pub const PARTS_PLAN: &str = "plan.json";

/// What the plan of parts has and no other file of that name, such as a plan of `rankscope dispatch`.
const MARK: &str = "\"accounting\"";

/// How much of a plan is looked through for the mark, which stands before the list of inputs.
const HEAD_BYTES: u64 = 1 << 20;

/// Whether `path` is a folder of parts. One whose plan is damaged still is, if there is any part.
pub fn is_parts_folder(path: &Path) -> bool {
    let plan = path.join(PARTS_PLAN);
    let is_part = |entry: fs::DirEntry| entry.path().extension().is_some_and(|suffix| suffix == "rkpart");
    plan.is_file() && (is_marked(&plan) || fs::read_dir(path).is_ok_and(|entries| entries.flatten().any(is_part)))
}

fn is_marked(plan: &Path) -> bool {
    let mut head = Vec::new();
    let is_read = open(plan).is_ok_and(|file| file.take(HEAD_BYTES).read_to_end(&mut head).is_ok());
    is_read && String::from_utf8_lossy(&head).contains(MARK)
}
