//! Which process groups share a file: by the first two digits of a hash of what a group is, so that a job of ten thousand groups leaves
//! 256 files and not ten thousand, and one group is always in the same.

use rankscope_collectives::Group;

/// Stands for the hash where there is no collective, so that every engine finds a file.
pub const NO_GROUP: &str = "none";

/// The value of `group_hash` for `group`.
pub(crate) fn bucket(group: &Group) -> String {
    let mut hasher = blake3::Hasher::new();
    for rank in group.ranks.iter() {
        hasher.update(&rank.0.to_le_bytes());
    }
    hasher.update(b"/").update(group.name.as_bytes());
    // A letter in front: engines would take some of them for numbers.
    format!("g{}", &hasher.finalize().to_hex()[..2])
}
