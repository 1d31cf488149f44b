//! Telling a folder of parts, which `rankscope map` writes, from one of traces. What is in it is the pipeline's.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::{files_in, folders_in, is_file, open_source};

/// The plan in a folder of parts.
pub const PARTS_PLAN: &str = "plan.json";

/// What the plan of parts has and no other file of that name, such as a plan of `rankscope dispatch`.
const MARK: &str = "\"accounting\"";

/// How much of a plan is looked through for the mark, which stands before the list of inputs.
const HEAD_BYTES: u64 = 1 << 20;

/// Whether `path` is a folder of parts, or one of nodes' folders of parts. One whose plan is damaged still is, if there is any part.
pub fn is_parts_folder(path: &Path) -> bool {
    has_parts(path) || !parts_of_nodes(path).is_empty()
}

/// The folders of parts that nodes have in the folder `path`, each by its number: `node-<K>`. None where it has parts itself.
pub fn parts_of_nodes(path: &Path) -> Vec<PathBuf> {
    let number = |name: String| name.strip_prefix("node-")?.parse::<u32>().ok();
    if is_file(&path.join(PARTS_PLAN)).unwrap_or(false) {
        return Vec::new();
    }
    let mut numbers: Vec<u32> = folders_in(path).unwrap_or_default().into_iter().filter_map(number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let folders = numbers.into_iter().map(|number| path.join(format!("node-{number}")));
    folders.filter(|folder| has_parts(folder)).collect()
}

fn has_parts(path: &Path) -> bool {
    let plan = path.join(PARTS_PLAN);
    is_file(&plan).unwrap_or(false)
        && (is_marked(&plan) || files_in(path).is_ok_and(|files| files.iter().any(|file| is_part(file))))
}

/// Whether a file is named like a part.
pub(crate) fn is_part(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "rkpart")
}

/// Whether a file of the plan's name is the plan of parts.
pub(crate) fn is_marked(plan: &Path) -> bool {
    let mut head = Vec::new();
    let is_read = open_source(plan).is_ok_and(|file| file.take(HEAD_BYTES).read_to_end(&mut head).is_ok());
    is_read && String::from_utf8_lossy(&head).contains(MARK)
}
