//! The counters of the host, from files of the kernel's. Each file is parsed by a function that knows its text alone.

mod cpu;
mod infiniband;
mod memory;
mod network;
mod pressure;
mod sensors;

use std::path::{Path, PathBuf};

use crate::absent::Absent;
use crate::source::{Opened, of};

/// All of them.
pub(crate) fn open() -> Vec<Opened> {
    vec![
        of("cpu", cpu::Cpu::open()),
        of("memory", memory::Memory::open()),
        of("pressure", pressure::Pressure::open()),
        of("network", network::Network::open()),
        of("infiniband", infiniband::Infiniband::open(Path::new("/sys/class/infiniband"))),
        of("hwmon", sensors::Sensors::open(Path::new("/sys/class/hwmon"))),
    ]
}

/// The first numbers of `text`; none where it begins with fewer.
fn numbers<const N: usize>(text: &str) -> Option<[u64; N]> {
    let mut words = text.split_ascii_whitespace();
    let mut found = [0; N];
    for number in &mut found {
        *number = words.next()?.parse().ok()?;
    }
    Some(found)
}

/// What lies in `folder`, in order.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Absent> {
    let read = std::fs::read_dir(folder).map_err(|reason| Absent::NoFile { path: folder.to_owned(), reason })?;
    let mut paths: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    Ok(paths)
}

/// The last part of a path, as text.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
