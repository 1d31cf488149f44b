//! Vendors' libraries: whether they are there and answer.
//!
//! To be asked in a process of its own: a library of CUPTI 13.2 without a driver ends the process at its first call, whichever that is. So the
//! driver comes first, and what profiles its devices is only opened where the driver has one. Nothing is ever closed or finalised again.
#![expect(unsafe_code, reason = "libraries are opened and called by hand")]

use std::env;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What was found of one vendor's devices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// How many devices its driver has; why none, where that is so.
    pub devices: Result<u32, String>,
    /// Whether the library that profiles them can be opened; why not.
    pub profiler: Result<(), String>,
}

/// Those of all vendors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Devices {
    /// NVIDIA's.
    pub cuda: Device,
    /// AMD's.
    pub rocm: Device,
    /// Whether the library that profiles those tells of memory that is allocated and freed; none where there is no such library.
    pub rocm_memory: Option<bool>,
    /// How many of NVIDIA's NVML knows, which tells of power, clocks and heat; why none.
    pub nvml: Result<u32, String>,
    /// How many of AMD's ROCm SMI knows, which tells the same of those; why none.
    pub rocm_smi: Result<u32, String>,
    /// How many of AMD's the kernel has files of.
    pub amd_cards: u32,
    /// Whether the plugin of PJRT that `RANKSCOPE_PJRT_FORWARD` names can be loaded and has what JAX asks for; why not. None where it names
    /// nothing.
    pub pjrt_forward: Option<Result<(), String>>,
}

impl Default for Devices {
    fn default() -> Self {
        let absent = Device { devices: Err("not looked for".to_owned()), profiler: Err("not looked for".to_owned()) };
        let none = || Err("not looked for".to_owned());
        Self {
            cuda: absent.clone(),
            rocm: absent,
            rocm_memory: None,
            nvml: none(),
            rocm_smi: none(),
            amd_cards: 0,
            pjrt_forward: None,
        }
    }
}

/// Opens what there is in this process.
pub fn look_at_devices() -> Devices {
    let sys = env::var_os("RANKSCOPE_SYS").map_or_else(|| PathBuf::from("/sys"), PathBuf::from);
    let amd_cards = amd_cards(&sys.join("class/drm"));
    let rocprofiler = rocprofiler_files();
    let rocprofiler: Vec<&CStr> = rocprofiler.iter().map(CString::as_c_str).collect();
    let rocm_smi = match amd_cards {
        0 => Err("not looked for without a GPU of AMD's".to_owned()),
        _ => {
            let files = rocm_smi_files();
            let names: Vec<&CStr> = files.iter().map(CString::as_c_str).collect();
            open(&names).and_then(|library| counted(library, c"rsmi_init", c"rsmi_num_monitor_devices"))
        }
    };
    let rocm =
        look(&[c"libamdhip64.so.7", c"libamdhip64.so.6", c"libamdhip64.so"], c"hipInit", c"hipGetDeviceCount", &rocprofiler);
    // Opened already, so that this finds the same one.
    let rocm_memory = rocm.profiler.is_ok().then(|| open(&rocprofiler).is_ok_and(tells_of_memory));
    Devices {
        cuda: look(&[c"libcuda.so.1"], c"cuInit", c"cuDeviceGetCount", &[c"libcupti.so.13", c"libcupti.so.12", c"libcupti.so"]),
        rocm,
        rocm_memory,
        // Its first function takes nothing, and does not look at what it is given.
        nvml: open(&[c"libnvidia-ml.so.1"]).and_then(|nvml| counted(nvml, c"nvmlInit_v2", c"nvmlDeviceGetCount_v2")),
        rocm_smi,
        amd_cards,
        pjrt_forward: env::var_os(PJRT_FORWARD).filter(|name| !name.is_empty()).map(|name| pjrt_plugin(&name)),
    }
}

/// Names the plugin that the library handed to JAX stands in front of.
pub(crate) const PJRT_FORWARD: &str = "RANKSCOPE_PJRT_FORWARD";

/// Whether a plugin of PJRT can be loaded. It is not called: that is JAX's to do, in a process with a device.
fn pjrt_plugin(name: &OsStr) -> Result<(), String> {
    let file = CString::new(name.as_bytes()).map_err(|error| error.to_string())?;
    find(open(&[file.as_c_str()])?, c"GetPjrtApi").map(|_| ())
}

/// Where counters look for ROCm SMI.
fn rocm_smi_files() -> Vec<CString> {
    let names = [".7", ".6", ".5", ".1", ""].map(|version| format!("librocm_smi64.so{version}"));
    rocm_files("RANKSCOPE_ROCM_SMI_LIBRARY", &["librocm_smi64.so".to_owned()], &names)
}

/// Where programs that record themselves look for rocprofiler-sdk, of which 1.x is read.
fn rocprofiler_files() -> Vec<CString> {
    let names = [".1", ""].map(|version| format!("librocprofiler-sdk.so{version}"));
    rocm_files("RANKSCOPE_ROCPROFILER_LIBRARY", &names, &names)
}

/// The file that a variable names; else those of ROCm's folder, and what the loader knows by these names.
fn rocm_files(variable: &str, in_folder: &[String], by_name: &[String]) -> Vec<CString> {
    let file = |path: PathBuf| CString::new(path.as_os_str().as_bytes()).ok();
    if let Some(named) = env::var_os(variable) {
        return file(named.into()).into_iter().collect();
    }
    let rocm = env::var_os("ROCM_PATH").map_or_else(|| PathBuf::from("/opt/rocm"), PathBuf::from);
    let installed = in_folder.iter().map(|name| rocm.join("lib").join(name));
    installed.chain(by_name.iter().map(PathBuf::from)).filter_map(file).collect()
}

/// Whether rocprofiler has the service of memory, under the number that it has in the versions that are read.
fn tells_of_memory(library: *mut c_void) -> bool {
    const MEMORY: c_int = 16;
    let Ok(ask) = find(library, c"rocprofiler_query_buffer_tracing_kind_name") else { return false };
    // SAFETY: the library declares it so, and it may be called at any time.
    let ask = unsafe { std::mem::transmute::<*mut c_void, extern "C" fn(c_int, *mut *const c_char, *mut u64) -> c_int>(ask) };
    let (mut name, mut length): (*const c_char, u64) = (std::ptr::null(), 0);
    if ask(MEMORY, &raw mut name, &raw mut length) != 0 || name.is_null() {
        return false;
    }
    // SAFETY: a text of the library's, which ends in a zero byte.
    unsafe { CStr::from_ptr(name) == c"MEMORY_ALLOCATION" }
}

/// Those among the kernel's cards that are AMD's.
fn amd_cards(drm: &Path) -> u32 {
    let cards = fs::read_dir(drm).into_iter().flatten().flatten().filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_card = name.strip_prefix("card").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        is_card && fs::read_to_string(entry.path().join("device/vendor")).is_ok_and(|vendor| vendor.trim() == "0x1002")
    });
    u32::try_from(cards.count()).unwrap_or(u32::MAX)
}

fn look(drivers: &[&CStr], init: &CStr, count: &CStr, profilers: &[&CStr]) -> Device {
    let devices = open(drivers).and_then(|driver| counted(driver, init, count));
    let profiler = match devices {
        Ok(1..) => open(profilers).map(|_| ()),
        _ => Err("not looked for without a device".to_owned()),
    };
    Device { devices, profiler }
}

/// The first of them that there is; what the loader says of the first, where there is none.
fn open(names: &[&CStr]) -> Result<*mut c_void, String> {
    let mut why = None;
    for name in names {
        // SAFETY: the name is a string; what a library does when it is loaded is its own.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !library.is_null() {
            return Ok(library);
        }
        why.get_or_insert_with(loader_says);
    }
    Err(why.unwrap_or_default())
}

fn loader_says() -> String {
    // SAFETY: the loader's message stays until its next one on this thread.
    unsafe {
        let message = libc::dlerror();
        if message.is_null() { String::new() } else { CStr::from_ptr(message.cast::<c_char>()).to_string_lossy().into_owned() }
    }
}

fn find(library: *mut c_void, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: the library is open, and is never closed.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    if address.is_null() { Err(format!("it has no {}", name.to_string_lossy())) } else { Ok(address) }
}

fn counted(library: *mut c_void, init: &CStr, count: &CStr) -> Result<u32, String> {
    let (start, ask) = (find(library, init)?, find(library, count)?);
    // SAFETY: vendors declare these functions so; the flags of some are half as wide, and are in the same register.
    let (start, ask) = unsafe {
        (
            std::mem::transmute::<*mut c_void, extern "C" fn(u64) -> c_int>(start),
            std::mem::transmute::<*mut c_void, extern "C" fn(*mut c_int) -> c_int>(ask),
        )
    };
    let mut devices = 0;
    for (name, error) in [(init, start(0)), (count, ask(&raw mut devices))] {
        if error != 0 {
            return Err(format!("{} answers {error}", name.to_string_lossy()));
        }
    }
    Ok(u32::try_from(devices).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_of_the_vendor_are_counted_and_their_connectors_are_not() {
        let drm = tempfile::tempdir().unwrap();
        for (entry, vendor) in [("card0", "0x1002\n"), ("card1", "0x10de\n"), ("card2", "0x1002\n"), ("card0-DP-1", "0x1002\n")]
        {
            let device = drm.path().join(entry).join("device");
            fs::create_dir_all(&device).unwrap();
            fs::write(device.join("vendor"), vendor).unwrap();
        }
        assert_eq!(amd_cards(drm.path()), 2);
        assert_eq!(amd_cards(Path::new("/nonexistent")), 0);
    }

    #[test]
    fn a_library_that_is_not_there_says_so_and_its_profiler_is_left_alone() {
        let found = look(&[c"librankscope-none.so.1"], c"init", c"count", &[c"libc.so.6"]);
        assert!(found.devices.unwrap_err().contains("librankscope-none.so.1"));
        assert_eq!(found.profiler, Err("not looked for without a device".to_owned()));
        // One that is no driver.
        let found = look(&[c"librankscope-none.so.1", c"libc.so.6"], c"cuInit", c"cuDeviceGetCount", &[]);
        assert_eq!(found.devices, Err("it has no cuInit".to_owned()));
    }

    #[test]
    fn a_plugin_of_pjrt_is_told_from_what_is_none() {
        assert!(pjrt_plugin(OsStr::new("/no/such/plugin.so")).unwrap_err().contains("/no/such/plugin.so"));
        assert_eq!(pjrt_plugin(OsStr::new("libc.so.6")), Err("it has no GetPjrtApi".to_owned()));
    }
    #[test]
    fn a_library_that_names_no_services_tells_of_no_memory() {
        assert!(!tells_of_memory(open(&[c"libc.so.6"]).unwrap()));
    }
}
