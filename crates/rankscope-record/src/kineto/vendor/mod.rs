//! Ranges passed on to a vendor's tool: NVTX and ITT, through their real libraries where the process can load them.
//!
//! A library is looked for once, when it is asked for; without it [`Ranges`] cannot be made, and the reason says what was tried.
//! After that nothing can fail. Zero bytes in a name are left out: the libraries take C strings.

mod itt;
mod nvtx;

use std::error::Error;
use std::ffi::{CString, OsStr};

use libloading::Library;

use itt::Itt;
use nvtx::Nvtx;

use super::KinetoError;

/// A vendor's ranges, on the thread that calls.
#[derive(Debug)]
pub struct Ranges(Loaded);

#[derive(Debug)]
enum Loaded {
    Nvtx(Nvtx),
    Itt(Itt),
}

impl Ranges {
    /// Those of NVTX: `libnvToolsExt.so.1`, wherever the loader finds it.
    ///
    /// # Errors
    /// [`KinetoError::VendorAbsent`] without such a library.
    pub fn nvtx() -> Result<Self, KinetoError> {
        Self::nvtx_at(nvtx::LIBRARY.as_ref())
    }

    /// Those of NVTX in the library of this file.
    ///
    /// # Errors
    /// [`KinetoError::VendorAbsent`] if it cannot be loaded or is another library.
    pub fn nvtx_at(file: &OsStr) -> Result<Self, KinetoError> {
        Ok(Self(Loaded::Nvtx(Nvtx::load(file)?)))
    }

    /// Those of ITT: the collector that `INTEL_LIBITTNOTIFY64` names, as Intel's tools set it, else `libittnotify.so`.
    ///
    /// # Errors
    /// [`KinetoError::VendorAbsent`] without such a library.
    pub fn itt() -> Result<Self, KinetoError> {
        let named = std::env::var_os(itt::VARIABLE).filter(|file| !file.is_empty());
        Self::itt_at(named.as_deref().unwrap_or(itt::LIBRARY.as_ref()))
    }

    /// Those of ITT in the library of this file.
    ///
    /// # Errors
    /// [`KinetoError::VendorAbsent`] if it cannot be loaded or is another library.
    pub fn itt_at(file: &OsStr) -> Result<Self, KinetoError> {
        Ok(Self(Loaded::Itt(Itt::load(file)?)))
    }

    /// Opens a range.
    pub fn push(&self, name: &str) {
        match &self.0 {
            Loaded::Nvtx(nvtx) => nvtx.push(name),
            Loaded::Itt(itt) => itt.push(name),
        }
    }

    /// Closes the innermost range.
    pub fn pop(&self) {
        match &self.0 {
            Loaded::Nvtx(nvtx) => nvtx.pop(),
            Loaded::Itt(itt) => itt.pop(),
        }
    }

    /// Marks a moment; with ITT, which has none on a thread, an empty range.
    pub fn mark(&self, name: &str) {
        match &self.0 {
            Loaded::Nvtx(nvtx) => nvtx.mark(name),
            Loaded::Itt(itt) => {
                itt.push(name);
                itt.pop();
            }
        }
    }
}

#[expect(unsafe_code, reason = "loading a vendor's library runs its initialisers")]
fn open(vendor: &'static str, file: &OsStr) -> Result<Library, KinetoError> {
    // SAFETY: the user asked for the ranges of this vendor, and with that for its library's initialisers to run.
    unsafe { Library::new(file) }.map_err(|error| absent(vendor, file, &error))
}

fn absent(vendor: &'static str, file: &OsStr, error: &libloading::Error) -> KinetoError {
    // What the loader said is in the source alone.
    let said = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let named = file.to_string_lossy();
    let reason = if said.starts_with(&*named) { said } else { format!("{named}: {said}") };
    KinetoError::VendorAbsent { vendor, reason }
}

fn c_string(name: &str) -> CString {
    CString::new(name).unwrap_or_else(|_| CString::new(name.replace('\0', "")).unwrap_or_default())
}
