//! GPUs of AMD: power, clocks, temperature, how busy they are, and what slows them down.
//!
//! ROCm SMI is asked where it is installed: its functions hand out numbers one by one, by names and types that have stood since 2019, while AMD SMI, which
//! is to follow it, hands out structures that grow and are reordered under the same names. Of ROCm SMI's structures only that of clocks is used,
//! whose two layouts are told apart; what slows a GPU down is in a structure of its that is another in every release, and so is read where the
//! library reads it, in the kernel's `gpu_metrics`, which says its version itself ([`metrics`]).
//!
//! Without the library, or one that answers, the kernel's own files tell nearly the same ([`card`]). A host without a GPU of AMD's loads nothing.

mod card;
mod clocks;
mod device;
mod library;
mod metrics;
mod slowed;
mod status;

use std::path::{Path, PathBuf};

use card::Card;
use device::Device;
use library::Library;
use rankscope_record::recording::json::quoted;
use rankscope_record::set_metadata;
pub use status::RocmSmiStatus;

use crate::absent::Absent;
use crate::gpu::{Gpu, Identity};
use crate::source::{Opened, of};

/// The variable that names the library.
const LIBRARY: &str = "RANKSCOPE_ROCM_SMI_LIBRARY";

/// The variable that says where sysfs is mounted, as that of the host is in some containers.
const SYS: &str = "RANKSCOPE_SYS";

/// What the library is called where it is absent, and what the kernel's files are.
const NAME: &str = "rocm_smi";
const KERNEL: &str = "amdgpu";

/// All GPUs of AMD's on the host, numbered from `first` on; why there are none.
pub(crate) fn open(named: Option<PathBuf>, first: u32) -> Vec<Opened> {
    let named = named.or_else(|| std::env::var_os(LIBRARY).map(PathBuf::from));
    let sys = std::env::var_os(SYS).map_or_else(|| PathBuf::from("/sys"), PathBuf::from);
    open_at(named, &sys, first)
}

fn open_at(named: Option<PathBuf>, sys: &Path, first: u32) -> Vec<Opened> {
    let cards = Card::all(sys);
    if cards.is_empty() && named.is_none() {
        return vec![(NAME, Err(Absent::NoAmdCard { path: sys.join("class/drm") }))];
    }
    match Library::load(named).and_then(|library| through(&library, &cards, first)) {
        Ok(devices) => {
            set_metadata("counters.gpus.from", &quoted(NAME));
            devices.into_iter().map(|device| of(NAME, device)).collect()
        }
        Err(absent) => {
            let mut opened = vec![(NAME, Err(absent))];
            if !cards.is_empty() {
                set_metadata("counters.gpus.from", &quoted(KERNEL));
                let numbered = (first..).zip(cards);
                opened.extend(numbered.map(|(index, card)| of(KERNEL, Gpu::new(KERNEL, index, &card.identity(), card.open()))));
            }
            opened
        }
    }
}

/// The library's, each with the kernel's files of the same place on the bus. One that tells nothing leaves the others.
fn through(library: &Library, cards: &[Card], first: u32) -> Result<Vec<Result<Gpu<Device>, Absent>>, Absent> {
    let count = library.count()?;
    if count == 0 {
        return Err(Absent::NoAmdGpu);
    }
    let devices = (0..count).zip(first..).map(|(device, index)| {
        let place = library.place(device);
        let card = cards.iter().find(|card| Some(card.place()) == place.as_deref()).cloned();
        let known = card.as_ref().map(Card::identity).unwrap_or_default();
        let (kind, uuid) = (library.name(device).or(known.kind), library.uuid(device).or(known.uuid));
        Gpu::new(NAME, index, &Identity { kind, uuid, place }, Device::new(library.clone(), device, card))
    });
    Ok(devices.collect())
}
