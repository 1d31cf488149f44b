//! NVML's functions, as its interface declares them. Those that a driver may lack are looked for and left out.
#![expect(unsafe_code, reason = "the library is loaded, and its functions are called by their documented signatures")]

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::path::PathBuf;

use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};

use super::status::NvmlStatus;
use crate::absent::Absent;

/// What the driver calls it.
const FILE: &str = "libnvidia-ml.so.1";

/// A device, as NVML hands it out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle(*mut c_void);

// SAFETY: NVML may be called from any thread, with any handle.
unsafe impl Send for Handle {}

/// `nvmlUtilization_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Utilization {
    pub(super) gpu: c_uint,
    pub(super) memory: c_uint,
}

/// `nvmlMemory_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MemoryInfo {
    total: c_ulonglong,
    free: c_ulonglong,
    pub(super) used: c_ulonglong,
}

/// Clocks, by NVML's numbers.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub(super) enum Clock {
    Sm = 1,
    Memory = 2,
}

/// `nvmlPciInfo_t`.
#[repr(C)]
struct PciInfo {
    legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    slot: c_uint,
    device: c_uint,
    subsystem: c_uint,
    text: [c_char; 32],
}

type Init = unsafe extern "C" fn() -> c_int;
type Count = unsafe extern "C" fn(*mut c_uint) -> c_int;
type ByIndex = unsafe extern "C" fn(c_uint, *mut *mut c_void) -> c_int;
type Text = unsafe extern "C" fn(*mut c_void, *mut c_char, c_uint) -> c_int;
type Number = unsafe extern "C" fn(*mut c_void, *mut c_uint) -> c_int;
type NumberOf = unsafe extern "C" fn(*mut c_void, c_uint, *mut c_uint) -> c_int;
type Rates = unsafe extern "C" fn(*mut c_void, *mut Utilization) -> c_int;
type Memory = unsafe extern "C" fn(*mut c_void, *mut MemoryInfo) -> c_int;
type Pci = unsafe extern "C" fn(*mut c_void, *mut PciInfo) -> c_int;
type Bits = unsafe extern "C" fn(*mut c_void, *mut c_ulonglong) -> c_int;

/// NVML, initialised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Library {
    count: Count,
    by_index: ByIndex,
    name: Option<Text>,
    uuid: Option<Text>,
    pci: Option<Pci>,
    power_mw: Option<Number>,
    power_limit_mw: Option<Number>,
    clock_mhz: Option<NumberOf>,
    temperature: Option<NumberOf>,
    utilization: Option<Rates>,
    memory: Option<Memory>,
    reasons: Option<Bits>,
}

impl Library {
    /// Loads and initialises it. It stays loaded.
    pub(super) fn load(named: Option<PathBuf>) -> Result<Self, Absent> {
        let file = named.unwrap_or_else(|| FILE.into());
        // SAFETY: the user asked for counters of GPUs, and with that for this library's initialisers to run.
        let loaded = unsafe { Loaded::open(Some(&file), RTLD_NOW | RTLD_LOCAL) };
        let loaded = loaded.map_err(|error| Absent::NoNvml { said: said(&error) })?;
        let lacks = |symbol| Absent::NotNvml { file: file.to_string_lossy().into_owned(), symbol };
        // SAFETY: the signatures are those of NVML's interface, which is kept for good: what changes gets another name.
        let (init, library) = unsafe {
            let init: Init = symbol(&loaded, INIT).ok_or_else(|| lacks(INIT))?;
            let reasons = symbol(&loaded, "nvmlDeviceGetCurrentClocksEventReasons");
            let library = Self {
                count: symbol(&loaded, COUNT).ok_or_else(|| lacks(COUNT))?,
                by_index: symbol(&loaded, BY_INDEX).ok_or_else(|| lacks(BY_INDEX))?,
                name: symbol(&loaded, "nvmlDeviceGetName"),
                uuid: symbol(&loaded, "nvmlDeviceGetUUID"),
                pci: symbol(&loaded, "nvmlDeviceGetPciInfo_v3"),
                power_mw: symbol(&loaded, "nvmlDeviceGetPowerUsage"),
                power_limit_mw: symbol(&loaded, "nvmlDeviceGetEnforcedPowerLimit"),
                clock_mhz: symbol(&loaded, "nvmlDeviceGetClockInfo"),
                temperature: symbol(&loaded, "nvmlDeviceGetTemperature"),
                utilization: symbol(&loaded, "nvmlDeviceGetUtilizationRates"),
                memory: symbol(&loaded, "nvmlDeviceGetMemoryInfo"),
                reasons: reasons.or_else(|| symbol(&loaded, "nvmlDeviceGetCurrentClocksThrottleReasons")),
            };
            (init, library)
        };
        std::mem::forget(loaded);
        // SAFETY: the library is loaded; the call may be made any number of times.
        refused(INIT, unsafe { init() })?;
        Ok(library)
    }

    pub(super) fn count(&self) -> Result<u32, Absent> {
        let mut count = 0;
        // SAFETY: the library is initialised, and the word is ours; so in all calls below.
        refused(COUNT, unsafe { (self.count)(&raw mut count) })?;
        Ok(count)
    }

    pub(super) fn handle(&self, index: u32) -> Result<Handle, Absent> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: as above.
        refused(BY_INDEX, unsafe { (self.by_index)(index, &raw mut handle) })?;
        Ok(Handle(handle))
    }

    pub(super) fn name(&self, device: Handle) -> Option<String> {
        self.name.and_then(|ask| text(ask, device))
    }

    /// The UUID of the GPU, of which no two in the world are alike.
    pub(super) fn uuid(&self, device: Handle) -> Option<String> {
        let told = self.uuid.and_then(|ask| text(ask, device))?;
        told.strip_prefix("GPU-").map(str::to_ascii_lowercase)
    }

    /// Where it is on the bus.
    pub(super) fn place(&self, device: Handle) -> Option<String> {
        // SAFETY: zeros are such a structure.
        let mut told: PciInfo = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let status = unsafe { self.pci?(device.0, &raw mut told) };
        (status == 0).then(|| format!("{:04x}:{:02x}:{:02x}.0", told.domain, told.bus, told.slot))
    }

    pub(super) fn power_mw(&self, device: Handle) -> Option<Result<u32, NvmlStatus>> {
        self.power_mw.map(|ask| number(ask, device))
    }

    pub(super) fn power_limit_mw(&self, device: Handle) -> Option<Result<u32, NvmlStatus>> {
        self.power_limit_mw.map(|ask| number(ask, device))
    }

    pub(super) fn clock_mhz(&self, device: Handle, clock: Clock) -> Option<Result<u32, NvmlStatus>> {
        self.clock_mhz.map(|ask| number_of(ask, device, clock as c_uint))
    }

    /// In degrees, of the chip.
    pub(super) fn temperature(&self, device: Handle) -> Option<Result<u32, NvmlStatus>> {
        self.temperature.map(|ask| number_of(ask, device, 0))
    }

    pub(super) fn utilization(&self, device: Handle) -> Option<Result<Utilization, NvmlStatus>> {
        let ask = self.utilization?;
        let mut answer = Utilization::default();
        // SAFETY: as above.
        Some(NvmlStatus(unsafe { ask(device.0, &raw mut answer) }).done().map(|()| answer))
    }

    pub(super) fn memory(&self, device: Handle) -> Option<Result<MemoryInfo, NvmlStatus>> {
        let ask = self.memory?;
        let mut answer = MemoryInfo::default();
        // SAFETY: as above.
        Some(NvmlStatus(unsafe { ask(device.0, &raw mut answer) }).done().map(|()| answer))
    }

    /// Why clocks are lower than they could be, a bit each.
    pub(super) fn reasons(&self, device: Handle) -> Option<Result<u64, NvmlStatus>> {
        let ask = self.reasons?;
        let mut bits = 0;
        // SAFETY: as above.
        Some(NvmlStatus(unsafe { ask(device.0, &raw mut bits) }).done().map(|()| bits))
    }
}

const INIT: &str = "nvmlInit_v2";
const COUNT: &str = "nvmlDeviceGetCount_v2";
const BY_INDEX: &str = "nvmlDeviceGetHandleByIndex_v2";

fn text(ask: Text, device: Handle) -> Option<String> {
    let mut text = [0_u8; 96];
    let length = text.len() as c_uint;
    // SAFETY: the library is initialised, and ends the text with a zero.
    let status = unsafe { ask(device.0, text.as_mut_ptr().cast(), length) };
    let end = text.iter().position(|byte| *byte == 0)?;
    (status == 0).then(|| String::from_utf8_lossy(&text[..end]).into_owned())
}

fn number(ask: Number, device: Handle) -> Result<u32, NvmlStatus> {
    let mut answer = 0;
    // SAFETY: the library is initialised, and the word is ours.
    NvmlStatus(unsafe { ask(device.0, &raw mut answer) }).done().map(|()| answer)
}

fn number_of(ask: NumberOf, device: Handle, of: c_uint) -> Result<u32, NvmlStatus> {
    let mut answer = 0;
    // SAFETY: the library is initialised, and the word is ours.
    NvmlStatus(unsafe { ask(device.0, of, &raw mut answer) }).done().map(|()| answer)
}

fn refused(call: &'static str, status: c_int) -> Result<(), Absent> {
    NvmlStatus(status).done().map_err(|status| Absent::Refused { call, status })
}

/// What the loader said, which is in the source alone.
pub(crate) fn said(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// A function of a library that stays loaded; none if the library lacks it.
///
/// # Safety
/// `F` is the type of a function pointer, and the function's.
unsafe fn symbol<F: Copy>(library: &Loaded, name: &str) -> Option<F> {
    // SAFETY: the caller knows the type.
    unsafe { library.get::<F>(name.as_bytes()) }.ok().map(|symbol| *symbol)
}
