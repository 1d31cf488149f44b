//! What a stage took: by the clock on the wall, and of processors, as the kernel counts them for the processes that ended.

use std::fmt;
use std::fs;
use std::iter::Sum;
use std::time::{Duration, Instant};

/// The time something took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Took {
    pub(super) wall: Duration,
    /// Of the processes that were started for it and waited for. Zero where the kernel does not say.
    pub(super) processors: Duration,
}

/// Something that has begun.
pub(super) struct Since {
    begun: Instant,
    processors: Duration,
}

impl Since {
    pub(super) fn now() -> Self {
        Self { begun: Instant::now(), processors: of_children() }
    }

    pub(super) fn took(&self) -> Took {
        Took { wall: self.begun.elapsed(), processors: of_children().saturating_sub(self.processors) }
    }
}

impl Sum for Took {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, took| Self { wall: sum.wall + took.wall, processors: sum.processors + took.processors })
    }
}

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:7.1} s {:7.1} CPU-s", self.wall.as_secs_f64(), self.processors.as_secs_f64())
    }
}

/// Processor time of all children that were waited for, theirs included.
fn of_children() -> Duration {
    let said = fs::read_to_string("/proc/self/stat").ok();
    said.and_then(|said| children_in(&said)).unwrap_or_default()
}

/// Fields 16 and 17 of `/proc/PID/stat` (proc(5)), in hundredths of a second. The second field, the name, may hold spaces.
fn children_in(stat: &str) -> Option<Duration> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let ticks: Vec<u64> = after_name.split_whitespace().skip(13).take(2).map_while(|field| field.parse().ok()).collect();
    let [user, system] = ticks[..] else { return None };
    Some(Duration::from_millis(10 * (user + system)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_children_is_read_behind_a_name_with_spaces_and_brackets() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 200 0 0 11 12 250 50 20 0 1 0 5 1000 10";
        assert_eq!(children_in(stat), Some(Duration::from_secs(3)));
        assert_eq!(children_in("7 (a) S 1"), None);
    }
}
