//! What a process group is for, by its description or name.
//!
//! Frameworks spell it out (`TENSOR_MODEL_PARALLEL_GROUP`, `mesh_dp_shard_cp`, `tp:0`); here it becomes the short words that people
//! use. A name that says nothing known gives nothing: the members of a group alone do not tell what it is for.

use std::fmt;

use crate::Group;

/// The sorts of parallelism that a group serves: one, or several at once (`dp+cp`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Parallelism(String);

/// What one word of a name stands for, and the word in reports. Experts qualify what stands beside them.
const WORDS: [(&str, &[&str]); 9] = [
    ("tp", &["tp", "tensor", "mp"]),
    ("pp", &["pp", "pipeline", "pipe"]),
    ("dp", &["dp", "data", "ddp", "fsdp", "hsdp", "sdp", "zero", "replicate", "shard"]),
    ("cp", &["cp", "context"]),
    ("sp", &["sp", "sequence", "ulysses", "seq"]),
    ("ep", &["ep", "expert", "experts", "moe"]),
    ("embedding", &["embedding", "embeddings", "embd"]),
    (Parallelism::WORLD, &["world", "default", "defaultpg"]),
    ("mp", &["model"]),
];

impl Parallelism {
    /// What the group of all ranks is called.
    pub const WORLD: &str = "world";

    /// What `group` is for, by its description and else by its name; none if neither tells.
    pub fn of(group: &Group) -> Option<Self> {
        Self::of_name(&group.description).or_else(|| Self::of_name(&group.name))
    }

    /// What a group described by `text` is for.
    pub fn of_name(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let words = || lower.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
        let has = |short: &str| WORDS.iter().any(|(known, spelt)| *known == short && words().any(|word| spelt.contains(&word)));
        let mut found: Vec<&str> = ["tp", "pp", "dp", "cp", "sp"].into_iter().filter(|short| has(short)).collect();
        if has("ep") {
            // Tensor and data parallelism among experts are not that of the other layers.
            found = match found.as_slice() {
                ["tp"] => vec!["etp"],
                ["dp"] => vec!["edp"],
                others => [&["ep"], others].concat(),
            };
        }
        if found.is_empty() {
            found.extend(["embedding", Self::WORLD].into_iter().find(|short| has(short)));
        }
        // "Model parallel" alone is tensor and pipeline together; beside another word it says nothing of its own.
        if found.is_empty() && has("mp") && words().any(|word| word == "parallel") {
            found.push("tp+pp");
        }
        (!found.is_empty()).then(|| Self(found.join("+")))
    }
}

impl fmt::Display for Parallelism {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_frameworks_are_understood() {
        for (name, short) in [
            ("TENSOR_MODEL_PARALLEL_GROUP", "tp"),
            ("PIPELINE_MODEL_PARALLEL_GROUP", "pp"),
            ("DATA_PARALLEL_GROUP", "dp"),
            ("DATA_PARALLEL_GROUP_WITH_CP", "dp+cp"),
            ("INTRA_PARTIAL_DATA_PARALLEL_GROUP_WITH_CP", "dp+cp"),
            ("CONTEXT_PARALLEL_GROUP", "cp"),
            ("HIERARCHICAL_CONTEXT_PARALLEL_GROUPS", "cp"),
            ("TENSOR_AND_DATA_PARALLEL_GROUP", "tp+dp"),
            ("TENSOR_AND_CONTEXT_PARALLEL_GROUP", "tp+cp"),
            ("EXPERT_MODEL_PARALLEL_GROUP", "ep"),
            ("EXPERT_TENSOR_PARALLEL_GROUP", "etp"),
            ("EXPERT_DATA_PARALLEL_GROUP", "edp"),
            ("MODEL_PARALLEL_GROUP", "tp+pp"),
            ("POSITION_EMBEDDING_GROUP", "embedding"),
            ("mesh_tp", "tp"),
            ("mesh_dp_shard_cp", "dp+cp"),
            ("mesh_fsdp", "dp"),
            ("tp:0", "tp"),
            ("ep_size_8", "ep"),
            ("expert_parallel_group", "ep"),
            ("sequence_parallel", "sp"),
            ("dp1", "dp"),
            ("default_pg", "world"),
        ] {
            assert_eq!(Parallelism::of_name(name).map(|known| known.to_string()).as_deref(), Some(short), "{name}");
        }
        for name in ["", "undefined", "0", "17", "my_group", "TEMP"] {
            assert_eq!(Parallelism::of_name(name), None, "{name}");
        }
    }

    #[test]
    fn a_name_tells_where_a_description_does_not() {
        let group =
            |name: &str, description: &str| Group { name: name.into(), description: description.into(), ..Group::default() };
        assert_eq!(Parallelism::of(&group("tp:0", "undefined")), Parallelism::of_name("tp"));
        assert_eq!(Parallelism::of(&group("3", "EXPERT_MODEL_PARALLEL_GROUP")), Parallelism::of_name("ep"));
    }
}
