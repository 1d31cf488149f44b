//! Scripts that have a cluster map a plan, for the engine that it runs already: Slurm, Kubernetes, Ray.
//!
//! All of them start the same two commands, `rankscope map` once a task and `rankscope merge` once at the end, and know of their
//! outcome nothing but exit codes. Tasks may be killed, repeated and run twice at once, since a part appears whole or not at all and an
//! input that is done is skipped. So an engine's own retries are enough, and nothing of a part ever passes through an engine.
//!
//! Text in, text out: nothing is started here, and no engine is linked in.

mod kubernetes;
mod ray;
mod slurm;

pub use kubernetes::{JobName, NameError, Pods, kubernetes};
pub use ray::{Ray, ray};
pub use slurm::{Slurm, slurm};

/// What is to be run, and how it is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tasks {
    /// The command that maps, without its shard; words as the system takes them.
    pub map: Vec<String>,
    /// The same as a line for a shell.
    pub map_line: String,
    /// The command that merges.
    pub merge: Vec<String>,
    /// The same as a line for a shell.
    pub merge_line: String,
    /// Files to map.
    pub inputs: usize,
    /// How many tasks.
    pub shards: u32,
    /// Memory of a task.
    pub memory_bytes: u64,
    /// Memory of the merge.
    pub merge_memory_bytes: u64,
}

impl Tasks {
    /// Memory of a task in MiB, rounded up.
    fn memory_mib(&self) -> u64 {
        self.memory_bytes.div_ceil(MIB)
    }

    fn merge_memory_mib(&self) -> u64 {
        self.merge_memory_bytes.div_ceil(MIB)
    }
}

const MIB: u64 = 1 << 20;

/// How often a task is tried again that failed for a reason that may go away.
const RETRIES: u32 = 3;

/// Exit codes after which another try ends the same: used wrongly, a check said no, an input changed.
const FINAL_CODES: [u8; 3] = [2, 3, 4];

#[cfg(test)]
fn example() -> Tasks {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    let (map, merge) =
        ("rankscope map --parts /shared/parts --format json", "rankscope merge /shared/parts --out /shared/report");
    Tasks {
        map: words(map),
        map_line: map.to_owned(),
        merge: words(merge),
        merge_line: merge.to_owned(),
        inputs: 1_024,
        shards: 64,
        memory_bytes: (512 << 20) + 1,
        merge_memory_bytes: 2 << 30,
    }
}
