//! Memory: `/proc/meminfo`.

use std::time::Instant;

use crate::absent::Absent;
use crate::gauge::Gauge;
use crate::kept::Kept;
use crate::source::Source;

pub(super) struct Memory {
    meminfo: Kept,
    available: Gauge,
    dirty: Gauge,
    swapped: Gauge,
}

impl Memory {
    pub(super) fn open() -> Result<Self, Absent> {
        Ok(Self {
            meminfo: Kept::open("/proc/meminfo")?,
            available: Gauge::new("memory available (bytes)"),
            dirty: Gauge::new("memory to be written to disk (bytes)"),
            swapped: Gauge::new("memory swapped out (bytes)"),
        })
    }
}

impl Source for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn look(&mut self, _: Instant) -> Result<(), Absent> {
        let [available, dirty, swap, swap_free] =
            self.meminfo.parsed(|text| bytes_of(text, ["MemAvailable", "Dirty", "SwapTotal", "SwapFree"]))?;
        self.available.set(available as f64);
        self.dirty.set(dirty as f64);
        self.swapped.set(swap.saturating_sub(swap_free) as f64);
        Ok(())
    }
}

/// What stands under these keys, in bytes; none where one is missing.
fn bytes_of<const N: usize>(text: &str, keys: [&str; N]) -> Option<[u64; N]> {
    let mut found = [0; N];
    let mut missing = N;
    for line in text.lines() {
        let Some((key, rest)) = line.split_once(':') else { continue };
        if let Some(at) = keys.iter().position(|known| *known == key) {
            found[at] = rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)?;
            missing -= 1;
            // Most of the file is behind them.
            if missing == 0 {
                return Some(found);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_under_their_keys_in_bytes() {
        let text = "MemTotal:        100 kB\nMemAvailable:     70 kB\nDirty:             2 kB\n";
        assert_eq!(bytes_of(text, ["Dirty", "MemAvailable"]), Some([2_048, 71_680]));
        assert_eq!(bytes_of(text, ["Dirty", "SwapTotal"]), None);
        assert_eq!(bytes_of("Dirty: 5 pages", ["Dirty"]), None);
    }
}
