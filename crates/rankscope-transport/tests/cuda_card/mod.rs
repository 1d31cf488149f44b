//! A card made of threads of the processor: the kernels as C++, launched by name, on the memory of this process. It is slow,
//! and it is not the hardware; the ranks that drive it, and the kernels, are those that drive a GPU.

use std::ffi::{CString, c_char};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use libloading::Library;
use rankscope_transport::cuda::{Card, CudaError, Grid, Kernel, Memory, address_of};

/// The kernels, compiled once per test binary; none without a C++ compiler.
pub(crate) static KERNELS: LazyLock<Option<Library>> = LazyLock::new(|| {
    let library = build()?;
    // SAFETY: it has just been built from the sources beside this file.
    #[expect(unsafe_code, reason = "loading a library runs code of its own")]
    Some(unsafe { Library::new(library) }.unwrap())
});

fn build() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Test binaries may build at the same time.
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kernels_{}.so", std::process::id()));
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++20", "-O1", "-fPIC", "-shared", "-fno-strict-aliasing", "-Wno-unknown-pragmas", "-pthread"]);
    compiler.arg("-I").arg(here.join("kernels")).arg("-I").arg(here.join("tests/cuda_threads"));
    compiler.arg("-o").arg(&library).args(["-x", "c++"]).arg(here.join("tests/cuda_threads/kernels.cpp"));
    match compiler.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(library)
        }
        Err(error) => {
            rankscope_testkit::skip(rankscope_testkit::Need::Compiler, format_args!("there is no C++ compiler (c++: {error})"));
            None
        }
    }
}

/// One rank's queue, which is worked off at once.
pub(crate) struct ThreadCard;

/// How far each launch's blocks are held up differs.
static LAUNCHES: AtomicU64 = AtomicU64::new(0);

type LaunchByName = unsafe extern "C" fn(*const c_char, u32, u32, u32, u64, *const u64) -> i32;

#[expect(unsafe_code, reason = "kernels take addresses")]
impl Card for ThreadCard {
    fn allocate(&self, bytes: u64) -> Result<Arc<dyn Memory>, CudaError> {
        let words = (bytes as usize).div_ceil(8) + 1;
        Ok(Arc::new(ThreadMemory { bytes, words: iter::repeat_with(AtomicU64::default).take(words).collect() }))
    }

    fn write(&self, memory: &dyn Memory, at: u64, bytes: &[u8]) -> Result<(), CudaError> {
        let to = address_of(memory, at, bytes.len() as u64) as *mut u8;
        // SAFETY: the place is inside of the memory, and the protocol under test keeps others away from it.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    fn read(&self, memory: &dyn Memory, at: u64, bytes: &mut [u8]) -> Result<(), CudaError> {
        let from = address_of(memory, at, bytes.len() as u64) as *const u8;
        // SAFETY: as above.
        bytes.copy_from_slice(unsafe { slice::from_raw_parts(from, bytes.len()) });
        Ok(())
    }

    fn clear(&self, memory: &dyn Memory, bytes: u64) -> Result<(), CudaError> {
        let at = address_of(memory, 0, bytes) as *mut u8;
        // SAFETY: as above.
        unsafe { at.write_bytes(0, bytes as usize) };
        Ok(())
    }

    fn copy(&self, from: &dyn Memory, to: &dyn Memory, bytes: u64) -> Result<(), CudaError> {
        let (from, to) = (address_of(from, 0, bytes) as *const u8, address_of(to, 0, bytes) as *mut u8);
        // SAFETY: as above.
        unsafe { to.copy_from(from, bytes as usize) };
        Ok(())
    }

    unsafe fn launch(&self, kernel: Kernel, grid: Grid, arguments: &[u64]) -> Result<(), CudaError> {
        let library = KERNELS.as_ref().expect("a card is made only of kernels that compiled");
        let entry = CString::new(kernel.entry()).unwrap();
        let seed = LAUNCHES.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the library's only entry of this name; the arguments are the caller's promise.
        let unknown = unsafe {
            let launch: libloading::Symbol<'_, LaunchByName> = library.get(b"launch_by_name").unwrap();
            launch(entry.as_ptr(), grid.x, grid.y, grid.threads, seed, arguments.as_ptr())
        };
        assert_eq!(unknown, 0, "{kernel:?}");
        Ok(())
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        Ok(())
    }

    fn blocks(&self) -> u32 {
        3
    }

    fn threads(&self) -> u32 {
        4
    }
}

/// Words that anybody may change, one more than needed so that the widest loads find what they are aligned to.
struct ThreadMemory {
    bytes: u64,
    words: Box<[AtomicU64]>,
}

// SAFETY: the box holds at least so many bytes behind the address, and neither moves nor shrinks until the drop.
#[expect(unsafe_code, reason = "the trait is a promise about addresses")]
unsafe impl Memory for ThreadMemory {
    fn address(&self) -> u64 {
        (self.words.as_ptr() as u64).next_multiple_of(16)
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
