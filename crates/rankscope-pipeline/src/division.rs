//! How a plan is divided: into how many tasks, and how much memory each of them may need.
//!
//! A task should be worth its start: a batch system takes two seconds to start one, a cluster of containers up to ten. So tasks have
//! some twenty seconds of work, or as many ranks as fit that, and there are never more of them than a batch system takes in one array.
//! Refuses to look into a file: its size and its name are all that a plan knows.

use std::path::Path;

/// What the inputs of a plan come to, for whoever divides them among machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Division {
    /// Files to map.
    pub inputs: usize,
    /// Their bytes, as they lie there.
    pub bytes: u64,
    /// How many tasks are sensible where a task takes seconds to start.
    pub shards: u32,
    /// Memory that a task with one thread is to be given.
    pub memory_bytes: u64,
}

/// Seconds of work that a task should have.
const TASK_SECONDS: u64 = 20;

/// Inputs that a task has at least, so that it is worth its start, and at most.
const TASK_INPUTS: (u64, u64) = (16, 64);

/// Slurm's `MaxArraySize` is 1,001 unless somebody changed it.
const SHARDS_MAX: u64 = 1_000;

/// Bytes of text that a core maps in a second, with everything that a report is made of.
const BYTES_A_SECOND: u64 = 300 << 20;

/// What text grows to that was compressed.
const INFLATED: u64 = 14;

/// Memory for a byte of text, in hundredths: the events of one file are in memory at once. Measured: 38 for a file of 133 MB.
const MEMORY_PERCENT: u64 = 40;

/// Where all arguments are read, for checks or tables. Measured: 69.
const MEMORY_WITH_ARGUMENTS_PERCENT: u64 = 80;

/// Memory that a task is given at least.
const MEMORY_BYTES_MIN: u64 = 256 << 20;

/// Which inputs of a plan one mapper does: those at every `of`-th place from `number` on, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Default for Shard {
    fn default() -> Self {
        Self { number: 1, of: 1 }
    }
}

impl Shard {
    /// Whether the input at the place `at` is one of its.
    pub(crate) fn holds(self, at: usize) -> bool {
        at % self.of.max(1) as usize == self.number.saturating_sub(1) as usize
    }
}

const COMPRESSED: [&str; 4] = ["gz", "tgz", "zst", "zip"];

impl Division {
    /// That of files with these sizes, of which all `arguments` are read or few.
    pub(crate) fn of<'a>(files: impl IntoIterator<Item = (&'a Path, u64)>, arguments: bool) -> Self {
        let percent = if arguments { MEMORY_WITH_ARGUMENTS_PERCENT } else { MEMORY_PERCENT };
        let (mut inputs, mut bytes, mut text_bytes, mut memory_bytes) = (0, 0u64, 0u64, MEMORY_BYTES_MIN);
        for (path, size) in files {
            let text = text_bytes_of(path, size);
            inputs += 1;
            bytes = bytes.saturating_add(size);
            text_bytes = text_bytes.saturating_add(text);
            memory_bytes = memory_bytes.max(text.saturating_mul(percent) / 100);
        }
        Self { inputs, bytes, shards: shards(inputs as u64, text_bytes), memory_bytes }
    }
}

/// What a file of this name and size comes to as text.
fn text_bytes_of(path: &Path, size: u64) -> u64 {
    let is_compressed = path.extension().is_some_and(|suffix| COMPRESSED.iter().any(|known| suffix == *known));
    size.saturating_mul(if is_compressed { INFLATED } else { 1 })
}

/// Memory for the events of a file of this name and size, with all of their arguments.
pub(crate) fn memory_with_arguments(path: &Path, size: u64) -> u64 {
    text_bytes_of(path, size).saturating_mul(MEMORY_WITH_ARGUMENTS_PERCENT) / 100
}

fn shards(inputs: u64, text_bytes: u64) -> u32 {
    let (least, most) = TASK_INPUTS;
    let by_work = text_bytes.div_ceil(TASK_SECONDS * BYTES_A_SECOND);
    let most_shards = (inputs / least).clamp(1, SHARDS_MAX);
    let shards = by_work.max(inputs.div_ceil(most)).clamp(1, most_shards);
    u32::try_from(shards).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn division(inputs: usize, name: &str, bytes: u64) -> Division {
        Division::of(vec![(Path::new(name), bytes); inputs], false)
    }

    #[test]
    fn a_small_job_is_one_task() {
        let division = division(15, "rank.json", GIB);
        assert_eq!((division.shards, division.bytes), (1, 15 * GIB));
    }

    #[test]
    fn tasks_have_sixteen_to_sixty_four_ranks() {
        assert_eq!(division(1_024, "rank.json", 1 << 20).shards, 16, "sixty-four of little work");
        assert_eq!(division(1_024, "rank.json", GIB).shards, 64, "sixteen of much");
        assert_eq!(division(1_024, "rank.json", 100 << 20).shards, 18, "twenty seconds of what lies between");
    }

    #[test]
    fn an_array_has_a_thousand_tasks_at_most() {
        assert_eq!(division(16_384, "rank.json.gz", GIB).shards, 1_000);
        assert_eq!(division(0, "", 0).shards, 1);
    }

    #[test]
    fn memory_is_that_of_the_largest_file() {
        assert_eq!(division(4, "rank.json", 1 << 20).memory_bytes, 256 << 20);
        assert_eq!(division(4, "rank.json", 10 * GIB).memory_bytes, 4 * GIB);
        assert_eq!(division(4, "rank.json.gz", 5 * GIB).memory_bytes, 28 * GIB);
        assert_eq!(Division::of([(Path::new("rank.json"), 10 * GIB)], true).memory_bytes, 8 * GIB);
    }
}
