//! ROCm SMI's functions, as rocm_smi.h declares them. Those that a release may lack are looked for and left out, and said by name.
#![expect(unsafe_code, reason = "the library is loaded, and its functions are called by their documented signatures")]

use std::ffi::{c_char, c_int};
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use rankscope_record::recording::json::quoted;
use rankscope_record::set_metadata;

use super::clocks::{Frequencies, Layout};
use super::status::RocmSmiStatus;
use crate::absent::Absent;

/// What releases of ROCm call it, the newest first, and then what some distributions do.
const FILES: [&str; 5] =
    ["librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5", "librocm_smi64.so.1", "librocm_smi64.so"];

/// Clocks, by the library's numbers.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(super) enum Clock {
    Sm = 0,
    Memory = 4,
}

/// Where temperature is measured, by the library's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Sensor {
    Edge = 0,
    Junction = 1,
}

/// `rsmi_version_t`.
#[repr(C)]
struct Version {
    major: u32,
    minor: u32,
    patch: u32,
    build: *const c_char,
}

type Init = unsafe extern "C" fn(u64) -> c_int;
type Count = unsafe extern "C" fn(*mut u32) -> c_int;
type AskVersion = unsafe extern "C" fn(*mut Version) -> c_int;
type Text = unsafe extern "C" fn(u32, *mut c_char, usize) -> c_int;
type Small = unsafe extern "C" fn(u32, *mut u32) -> c_int;
type Large = unsafe extern "C" fn(u32, *mut u64) -> c_int;
type LargeOf = unsafe extern "C" fn(u32, u32, *mut u64) -> c_int;
type LargeAndType = unsafe extern "C" fn(u32, *mut u64, *mut u32) -> c_int;
type Temperature = unsafe extern "C" fn(u32, u32, u32, *mut i64) -> c_int;
type Clocks = unsafe extern "C" fn(u32, u32, *mut Frequencies) -> c_int;

/// ROCm SMI, initialised.
#[derive(Clone, Debug)]
pub(super) struct Library {
    count: Count,
    place: Option<Large>,
    uuid: Option<Large>,
    name: Option<Text>,
    power: Option<LargeAndType>,
    average_power: Option<LargeOf>,
    power_limit: Option<LargeOf>,
    temperature: Option<Temperature>,
    busy: Option<Small>,
    memory_busy: Option<Small>,
    memory_used: Option<LargeOf>,
    clocks: Option<(Clocks, Layout)>,
}

impl Library {
    /// Loads and initialises it. It stays loaded.
    pub(super) fn load(named: Option<PathBuf>) -> Result<Self, Absent> {
        let (file, loaded) = open(named)?;
        let mut lacks = Vec::new();
        let library = Self::of(&file, &loaded, &mut lacks);
        // What was loaded stays loaded, also where it is not used: it may have started threads.
        std::mem::forget(loaded);
        let (library, version) = library?;
        let lacks: Vec<String> = lacks.into_iter().map(quoted).collect();
        let version = version.map_or("null".to_owned(), |[a, b, c]| format!("\"{a}.{b}.{c}\""));
        let file = quoted(&file.to_string_lossy());
        set_metadata(
            "counters.rocm_smi",
            &format!("{{\"file\":{file},\"version\":{version},\"lacks\":[{}]}}", lacks.join(",")),
        );
        Ok(library)
    }

    fn of(file: &Path, loaded: &Loaded, lacks: &mut Vec<&'static str>) -> Result<(Self, Option<[u32; 3]>), Absent> {
        let required = |symbol| Absent::NotRocmSmi { file: file.to_string_lossy().into_owned(), symbol };
        // SAFETY: the signatures are those of rocm_smi.h, and have been the same in every release that has the functions.
        unsafe {
            let init: Init = symbol(loaded, INIT).ok_or_else(|| required(INIT))?;
            let count: Count = symbol(loaded, COUNT).ok_or_else(|| required(COUNT))?;
            refused(INIT, init(0))?;
            let version = version(loaded, lacks);
            let has_functions_of_six = symbol::<*const ()>(loaded, OF_SIX).is_some();
            let layout = version.and_then(|[major, ..]| Layout::of(major, has_functions_of_six));
            let clocks: Option<Clocks> = wanted(loaded, "rsmi_dev_gpu_clk_freq_get", lacks);
            let library = Self {
                count,
                place: wanted(loaded, "rsmi_dev_pci_id_get", lacks),
                uuid: wanted(loaded, "rsmi_dev_unique_id_get", lacks),
                name: wanted(loaded, "rsmi_dev_name_get", lacks),
                power: wanted(loaded, "rsmi_dev_power_get", lacks),
                average_power: wanted(loaded, "rsmi_dev_power_ave_get", lacks),
                power_limit: wanted(loaded, "rsmi_dev_power_cap_get", lacks),
                temperature: wanted(loaded, "rsmi_dev_temp_metric_get", lacks),
                busy: wanted(loaded, "rsmi_dev_busy_percent_get", lacks),
                memory_busy: wanted(loaded, "rsmi_dev_memory_busy_percent_get", lacks),
                memory_used: wanted(loaded, "rsmi_dev_memory_usage_get", lacks),
                clocks: clocks.zip(layout),
            };
            Ok((library, version))
        }
    }

    pub(super) fn count(&self) -> Result<u32, Absent> {
        let mut count = 0;
        // SAFETY: the library is initialised, and the word is ours; so in all calls below.
        refused(COUNT, unsafe { (self.count)(&raw mut count) })?;
        Ok(count)
    }

    /// Where a device is on the bus, as the kernel writes it.
    pub(super) fn place(&self, device: u32) -> Option<String> {
        let mut id = 0_u64;
        // SAFETY: as above.
        let status = unsafe { self.place?(device, &raw mut id) };
        let (domain, bus, slot, function) = (id >> 32, id >> 8 & 0xFF, id >> 3 & 0x1F, id & 7);
        (status == 0).then(|| format!("{domain:04x}:{bus:02x}:{slot:02x}.{function}"))
    }

    /// What no other device has; partitions of one have the same.
    pub(super) fn uuid(&self, device: u32) -> Option<String> {
        let mut id = 0_u64;
        // SAFETY: as above.
        let status = unsafe { self.uuid?(device, &raw mut id) };
        (status == 0 && id != 0 && id != u64::MAX).then(|| format!("{id:016x}"))
    }

    /// What the vendor calls it; none where that is no text.
    pub(super) fn name(&self, device: u32) -> Option<String> {
        let mut text = [0_u8; 128];
        // SAFETY: as above; the library writes no more than it is told.
        let status = unsafe { self.name?(device, text.as_mut_ptr().cast(), text.len()) };
        let end = text.iter().position(|byte| *byte == 0)?;
        let name = std::str::from_utf8(&text[..end]).ok()?.trim();
        let is_text = !name.is_empty() && !name.contains(char::is_control);
        (matches!(status, 0 | CUT_OFF) && is_text).then(|| name.to_owned())
    }

    /// Power now, or on average where the chip tells no other.
    pub(super) fn power_uw(&self, device: u32) -> Option<Result<u64, RocmSmiStatus>> {
        let now = self.power.map(|ask| {
            let (mut power, mut kind) = (0, 0);
            // SAFETY: as above.
            let status = unsafe { ask(device, &raw mut power, &raw mut kind) };
            status_of(status).map(|()| power)
        });
        match now {
            Some(Ok(power)) if power < u64::from(u32::MAX) => Some(Ok(power)),
            // Refused, or all ones of some width.
            refused => self.average_power.map(|ask| large_of(ask, device, 0)).or(refused),
        }
    }

    pub(super) fn power_limit_uw(&self, device: u32) -> Option<Result<u64, RocmSmiStatus>> {
        self.power_limit.map(|ask| large_of(ask, device, 0))
    }

    /// In thousandths of a degree.
    pub(super) fn temperature(&self, device: u32, sensor: Sensor) -> Option<Result<i64, RocmSmiStatus>> {
        let ask = self.temperature?;
        let mut told = 0;
        // SAFETY: as above; 0 asks for what it is now.
        Some(status_of(unsafe { ask(device, sensor as u32, 0, &raw mut told) }).map(|()| told))
    }

    pub(super) fn busy(&self, device: u32) -> Option<Result<u32, RocmSmiStatus>> {
        self.busy.map(|ask| small(ask, device))
    }

    pub(super) fn memory_busy(&self, device: u32) -> Option<Result<u32, RocmSmiStatus>> {
        self.memory_busy.map(|ask| small(ask, device))
    }

    /// Of the device's own memory, in bytes.
    pub(super) fn memory_used(&self, device: u32) -> Option<Result<u64, RocmSmiStatus>> {
        self.memory_used.map(|ask| large_of(ask, device, 0))
    }

    pub(super) fn clock_hz(&self, device: u32, clock: Clock) -> Option<Result<u64, RocmSmiStatus>> {
        let (ask, layout) = self.clocks?;
        let mut frequencies = Frequencies([0; 1024]);
        // SAFETY: as above; the place is larger than any layout.
        let status = unsafe { ask(device, clock as u32, &raw mut frequencies) };
        Some(status_of(status).and_then(|()| layout.current(&frequencies).ok_or(NO_DATA)))
    }
}

const INIT: &str = "rsmi_init";
const COUNT: &str = "rsmi_num_monitor_devices";

/// A function that came with ROCm 6.
const OF_SIX: &str = "rsmi_dev_activity_metric_get";

/// What the library returns where a text is longer than its place.
const CUT_OFF: c_int = 11;
const NO_DATA: RocmSmiStatus = RocmSmiStatus(14);

/// The library that is named, or the first that there is. Of several that cannot be opened, the one that is there but lacks another is told.
fn open(named: Option<PathBuf>) -> Result<(PathBuf, Loaded), Absent> {
    let files = named.map_or_else(usual, |file| vec![file]);
    let (mut why, mut is_there) = (None, false);
    for file in files {
        // SAFETY: the user asked for counters of GPUs, and with that for this library's initialisers to run.
        match unsafe { Loaded::open(Some(&file), RTLD_NOW | RTLD_LOCAL) } {
            Ok(loaded) => return Ok((file, loaded)),
            Err(error) => {
                let said = crate::nvml::said(&error);
                let lacks_another = !said.starts_with(&*file.to_string_lossy());
                if why.is_none() || (lacks_another && !is_there) {
                    (why, is_there) = (Some(said), lacks_another);
                }
            }
        }
    }
    Err(Absent::NoRocmSmi { said: why.unwrap_or_default() })
}

/// Where it lies: where ROCm is installed, and where the loader looks.
fn usual() -> Vec<PathBuf> {
    let rocm = std::env::var_os("ROCM_PATH").map_or_else(|| PathBuf::from("/opt/rocm"), PathBuf::from);
    [rocm.join("lib/librocm_smi64.so")].into_iter().chain(FILES.map(PathBuf::from)).collect()
}

/// # Safety
/// The library is ROCm SMI.
unsafe fn version(loaded: &Loaded, lacks: &mut Vec<&'static str>) -> Option<[u32; 3]> {
    let mut version = Version { major: 0, minor: 0, patch: 0, build: std::ptr::null() };
    // SAFETY: the signature is that of rocm_smi.h; the text that it points to is not looked at.
    let status = unsafe { wanted::<AskVersion>(loaded, "rsmi_version_get", lacks)?(&raw mut version) };
    (status == 0).then_some([version.major, version.minor, version.patch])
}

fn small(ask: Small, device: u32) -> Result<u32, RocmSmiStatus> {
    let mut answer = 0;
    // SAFETY: the library is initialised, and the word is ours.
    status_of(unsafe { ask(device, &raw mut answer) }).map(|()| answer)
}

fn large_of(ask: LargeOf, device: u32, of: u32) -> Result<u64, RocmSmiStatus> {
    let mut answer = 0;
    // SAFETY: the library is initialised, and the word is ours.
    status_of(unsafe { ask(device, of, &raw mut answer) }).map(|()| answer)
}

fn status_of(status: c_int) -> Result<(), RocmSmiStatus> {
    RocmSmiStatus(status.cast_unsigned()).done()
}

fn refused(call: &'static str, status: c_int) -> Result<(), Absent> {
    status_of(status).map_err(|status| Absent::RocmSmiRefused { call, status })
}

/// A function of a library that stays loaded; none, and it is noted, if the library lacks it.
///
/// # Safety
/// `F` is the type of a function pointer, and the function's.
unsafe fn wanted<F: Copy>(library: &Loaded, name: &'static str, lacks: &mut Vec<&'static str>) -> Option<F> {
    // SAFETY: the caller knows the type.
    let found = unsafe { symbol(library, name) };
    if found.is_none() {
        lacks.push(name);
    }
    found
}

/// A function of a library that stays loaded; none if the library lacks it.
///
/// # Safety
/// `F` is the type of a function pointer, and the function's.
unsafe fn symbol<F: Copy>(library: &Loaded, name: &str) -> Option<F> {
    // SAFETY: the caller knows the type.
    unsafe { library.get::<F>(name.as_bytes()) }.ok().map(|symbol| *symbol)
}
