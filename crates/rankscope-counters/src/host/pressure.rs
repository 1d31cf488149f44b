//! Pressure: `/proc/pressure`, how much of the time something waited for processors, memory or disks (Documentation/accounting/psi.rst of the
//! kernel). `total` is in microseconds.

use std::time::Instant;

use crate::absent::Absent;
use crate::gauge::Rate;
use crate::kept::Kept;
use crate::source::Source;

pub(super) struct Pressure {
    files: Vec<(Kept, Rate)>,
}

/// Microseconds in a second to per cent of the time.
const PER_CENT: f64 = 1e-4;

impl Pressure {
    pub(super) fn open() -> Result<Self, Absent> {
        let of = |what: &str, name: &str| {
            Ok((
                Kept::open(format!("/proc/pressure/{what}"))?,
                Rate::new(&format!("something waited for {name} (%)"), PER_CENT),
            ))
        };
        Ok(Self { files: vec![of("cpu", "a processor")?, of("memory", "memory")?, of("io", "disks")?] })
    }
}

impl Source for Pressure {
    fn name(&self) -> &'static str {
        "pressure"
    }

    fn look(&mut self, now: Instant) -> Result<(), Absent> {
        for (file, rate) in &mut self.files {
            rate.set(now, file.parsed(waited_us)?);
        }
        Ok(())
    }
}

/// How long something has waited, all together.
fn waited_us(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_that_of_some() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n";
        assert_eq!((waited_us(text), waited_us("full avg10=0.00 total=99")), (Some(1_234), None));
    }
}
