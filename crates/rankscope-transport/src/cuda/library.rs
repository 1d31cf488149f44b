//! The libraries that are looked for when they are needed: the binding panics where one is missing, so it is asked first.

use super::error::CudaError;

/// The driver, which comes with the kernel module.
pub(super) fn driver() -> Result<(), CudaError> {
    // SAFETY: loading the library runs its initialisers, which is what a program that uses CUDA asks for.
    #[expect(unsafe_code, reason = "loading a library runs code of its own")]
    let present = unsafe { cudarc::driver::sys::is_culib_present() };
    let advice = "it comes with the NVIDIA driver of a machine with a GPU; `--backend threads` needs none";
    found(present, "the CUDA driver", "cuda", advice)
}

/// The compiler.
pub(super) fn nvrtc() -> Result<(), CudaError> {
    // SAFETY: as above.
    #[expect(unsafe_code, reason = "loading a library runs code of its own")]
    let present = unsafe { cudarc::nvrtc::sys::is_culib_present() };
    let advice =
        "it comes with the CUDA toolkit and with `pip install nvidia-cuda-nvrtc-cu12`; put its folder into LD_LIBRARY_PATH";
    found(present, "NVRTC, the CUDA compiler,", "nvrtc", advice)
}

/// The collectives.
pub(super) fn nccl() -> Result<(), CudaError> {
    // SAFETY: as above.
    #[expect(unsafe_code, reason = "loading a library runs code of its own")]
    let present = unsafe { cudarc::nccl::sys::is_culib_present() };
    let advice = "it comes with `pip install nvidia-nccl-cu12`; put its folder into LD_LIBRARY_PATH";
    found(present, "NCCL", "nccl", advice)
}

fn found(present: bool, library: &'static str, name: &str, advice: &'static str) -> Result<(), CudaError> {
    if present {
        return Ok(());
    }
    // The binding tries names of old toolkits as well; these are the ones a reader can look for.
    let mut looked_for = cudarc::get_lib_name_candidates(name);
    looked_for.retain(|file| !file.contains("64"));
    looked_for.sort_unstable();
    looked_for.dedup();
    Err(CudaError::NoLibrary { library, looked_for, advice })
}
