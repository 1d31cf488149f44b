//! Ports of InfiniBand and RoCE: `/sys/class/infiniband/DEVICE/ports/PORT/counters`. Data is counted in words of four bytes.

use std::path::Path;
use std::time::Instant;

use super::{entries, name};
use crate::absent::Absent;
use crate::gauge::Rate;
use crate::kept::Kept;
use crate::source::Source;

/// Files of a port, what their tracks are called, and what one is in the track's unit.
const FILES: [(&str, &str, f64); 5] = [
    ("port_rcv_data", "received (bytes/s)", 4.0),
    ("port_xmit_data", "sent (bytes/s)", 4.0),
    ("port_xmit_wait", "waits for credit (1/s)", 1.0),
    ("symbol_error", "symbol errors (1/s)", 1.0),
    ("link_error_recovery", "link recoveries (1/s)", 1.0),
];

pub(super) struct Infiniband {
    counters: Vec<(Kept, Rate)>,
}

impl Infiniband {
    pub(super) fn open(class: &Path) -> Result<Self, Absent> {
        let mut counters = Vec::new();
        for device in entries(class)? {
            for port in entries(&device.join("ports")).unwrap_or_default() {
                for (file, what, scale) in FILES {
                    // Devices have some of these.
                    let Ok(mut kept) = Kept::open(port.join("counters").join(file)) else { continue };
                    if kept.number().is_ok() {
                        counters.push((kept, Rate::new(&format!("{} port {} {what}", name(&device), name(&port)), scale)));
                    }
                }
            }
        }
        if counters.is_empty() { Err(Absent::None { path: class.to_owned() }) } else { Ok(Self { counters }) }
    }
}

impl Source for Infiniband {
    fn name(&self) -> &'static str {
        "infiniband"
    }

    fn look(&mut self, now: Instant) -> Result<(), Absent> {
        for (file, rate) in &mut self.counters {
            rate.set(now, file.number()?.cast_unsigned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn ports_that_count_are_found_and_a_host_without_says_so() {
        let root = tempfile::tempdir().unwrap();
        assert!(matches!(Infiniband::open(&root.path().join("none")), Err(Absent::NoFile { .. })));
        assert!(matches!(Infiniband::open(root.path()), Err(Absent::None { .. })));
        let counters = root.path().join("mlx5_0/ports/1/counters");
        fs::create_dir_all(&counters).unwrap();
        for (file, text) in [("port_rcv_data", "17\n"), ("port_xmit_data", "N/A (no PMA)\n"), ("unknown", "1\n")] {
            fs::write(counters.join(file), text).unwrap();
        }
        let mut found = Infiniband::open(root.path()).unwrap();
        assert_eq!(found.counters.len(), 1);
        found.look(Instant::now()).unwrap();
    }
}
