//! The CUDA driver, which is asked before anything else: CUPTI is not touched unless it comes up.
//!
//! Some versions of CUPTI fail in every call where there is no driver, and one of them ends the process in its first call, whichever
//! that is. So the order is fixed: the driver's library, its `cuInit`, and only then anything of CUPTI's.
#![expect(unsafe_code, reason = "the driver's library is loaded and functions of it are called by their documented signatures")]

use std::ffi::c_int;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use rankscope_devices::{said, symbol};

use crate::absent::Absent;
use crate::visible::Visible;

/// The variable that names the library.
pub(crate) const DRIVER: &str = "RANKSCOPE_CUDA_LIBRARY";

/// What the driver is called on every machine that has one.
const FILE: &str = "libcuda.so.1";

type Init = unsafe extern "C" fn(c_int) -> c_int;
type GetVersion = unsafe extern "C" fn(*mut c_int) -> c_int;

/// A driver that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Driver {
    /// The newest CUDA it can do, 12.9 as 12090, where it tells.
    pub(crate) version: Option<u32>,
    /// The devices that this process sees.
    pub(crate) visible: Vec<Visible>,
}

impl Driver {
    /// Loads it and has it come up.
    ///
    /// # Errors
    /// There is none, or it does not.
    pub(crate) fn come_up(named: Option<PathBuf>) -> Result<Self, Absent> {
        let file = named.or_else(|| std::env::var_os(DRIVER).map(PathBuf::from)).unwrap_or_else(|| FILE.into());
        Self::of(&file)
    }

    fn of(file: &Path) -> Result<Self, Absent> {
        // SAFETY: the user asked for device work, and with that for this library's initialisers to run.
        let library = unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|error| Absent::NoDriver { said: said(&error) })?;
        let file = file.to_string_lossy();
        // SAFETY: the signatures of the driver's interface, which never change.
        let init: Init = unsafe { symbol(&library, "cuInit") }
            .ok_or_else(|| Absent::NotADriver { file: file.clone().into_owned(), symbol: "cuInit" })?;
        // SAFETY: as above.
        let version: Option<GetVersion> = unsafe { symbol(&library, "cuDriverGetVersion") };
        // SAFETY: the library is loaded; the call may be made any number of times.
        let status = unsafe { init(0) };
        let visible = if status == 0 { Visible::all(&library) } else { Vec::new() };
        // It stays, as CUPTI needs it, and nobody can know whether the program does.
        std::mem::forget(library);
        if status != 0 {
            return Err(Absent::DriverDown { status });
        }
        Ok(Self { version: version.and_then(asked), visible })
    }
}

fn asked(get: GetVersion) -> Option<u32> {
    let mut version = 0;
    // SAFETY: the library is loaded, and the word is ours.
    let status = unsafe { get(&raw mut version) };
    u32::try_from(version).ok().filter(|version| status == 0 && *version > 0)
}
