//! A card that is there: the driver's calls, each with what was being done when it failed.
//!
//! Ranks on one card share its primary context, so each can write to the others' memory as it is; between cards peer access is
//! switched on once. Memory comes from the plain allocator: what comes from the driver's pools is not mapped by peer access.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg, result, sys};
use cudarc::nvrtc::Ptx;

use super::card::{Card, Grid, Memory, address_of};
use super::compile::{Architecture, compile};
use super::error::CudaError;
use super::kernels::{Kernel, SOURCES};
use super::library;

/// One rank's stream on a card.
pub struct Device {
    chip: Arc<Chip>,
    stream: Arc<CudaStream>,
}

/// A card and the kernels compiled for it, shared by the ranks on it.
struct Chip {
    ordinal: usize,
    context: Arc<CudaContext>,
    functions: HashMap<Kernel, CudaFunction>,
    multiprocessors: u32,
}

/// What `rankscope` can say about a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its number among those the driver shows.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Its compute capability: 90 is 9.0.
    pub capability: u32,
    /// Its memory.
    pub memory_bytes: u64,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = (self.capability / 10, self.capability % 10);
        let gib = self.memory_bytes >> 30;
        write!(f, "device {}: {}, compute capability {major}.{minor}, {gib} GiB", self.ordinal, self.name)
    }
}

/// The cards of this machine.
///
/// # Errors
/// [`CudaError::NoLibrary`] without a driver, [`CudaError::NoDevice`] without a card.
pub fn discover() -> Result<Vec<Found>, CudaError> {
    contexts()?.iter().map(found).collect()
}

/// A stream for each of `ranks` ranks, dealt out over the cards in turn, each card able to write to the memory of all, with
/// the kernels compiled for it.
///
/// # Errors
/// [`CudaError`]: no driver, no card, no compiler, too many ranks, or cards that cannot map each other's memory.
pub fn open(ranks: u32) -> Result<Vec<Device>, CudaError> {
    let contexts = contexts()?;
    let used = &contexts[..contexts.len().min(ranks as usize)];
    if ranks as usize > used.len() * RANKS_PER_CARD as usize {
        return Err(CudaError::TooManyRanks { world_size: ranks, devices: used.len(), per_device: RANKS_PER_CARD });
    }
    map_peers(used)?;
    let mut compiled = HashMap::new();
    streams(ranks, used, |context| functions(context, &mut compiled))
}

/// The same for a card of its own for each rank, and no kernels.
pub(super) fn open_bare(ranks: u32) -> Result<Vec<Device>, CudaError> {
    let contexts = contexts()?;
    if ranks as usize > contexts.len() {
        return Err(CudaError::TooManyRanks { world_size: ranks, devices: contexts.len(), per_device: 1 });
    }
    streams(ranks, &contexts[..ranks as usize], |_| Ok(HashMap::new()))
}

fn streams(
    ranks: u32,
    contexts: &[Arc<CudaContext>],
    mut functions: impl FnMut(&Arc<CudaContext>) -> Result<HashMap<Kernel, CudaFunction>, CudaError>,
) -> Result<Vec<Device>, CudaError> {
    let chip = |context| Chip::new(context, functions(context)?).map(Arc::new);
    let chips: Vec<Arc<Chip>> = contexts.iter().map(chip).collect::<Result<_, _>>()?;
    let device = |chip: &Arc<Chip>| {
        let stream = chip.context.new_stream().map_err(chip.failed("creating a stream"))?;
        Ok(Device { chip: chip.clone(), stream })
    };
    chips.iter().cycle().take(ranks as usize).map(device).collect()
}

/// Every rank may have one small grid that waits; a card runs 128 grids at once, and the grids that are waited for need room.
const RANKS_PER_CARD: u32 = 64;

fn contexts() -> Result<Vec<Arc<CudaContext>>, CudaError> {
    library::driver()?;
    let count = match CudaContext::device_count() {
        Ok(0) => return Err(CudaError::NoDevice),
        Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NO_DEVICE => return Err(CudaError::NoDevice),
        count => count.map_err(failed(0, "counting devices"))?,
    };
    (0..count as usize).map(|ordinal| CudaContext::new(ordinal).map_err(failed(ordinal, "opening it"))).collect()
}

fn found(context: &Arc<CudaContext>) -> Result<Found, CudaError> {
    let failed = failed(context.ordinal(), "asking for its properties");
    let name = context.name().map_err(&failed)?;
    let memory_bytes = context.total_mem().map_err(&failed)? as u64;
    Ok(Found { ordinal: context.ordinal(), name, capability: capability(context)?, memory_bytes })
}

fn capability(context: &Arc<CudaContext>) -> Result<u32, CudaError> {
    let (major, minor) =
        context.compute_capability().map_err(failed(context.ordinal(), "asking for its compute capability"))?;
    Ok(major.unsigned_abs() * 10 + minor.unsigned_abs())
}

/// Switches on that every card writes to the memory of every other.
fn map_peers(contexts: &[Arc<CudaContext>]) -> Result<(), CudaError> {
    for from in contexts {
        from.bind_to_thread().map_err(failed(from.ordinal(), "making it current"))?;
        for to in contexts.iter().filter(|to| to.ordinal() != from.ordinal()) {
            // SAFETY: both contexts are open and the first is current.
            #[expect(unsafe_code, reason = "the binding has no safe call for peer access")]
            let switched = unsafe { sys::cuCtxEnablePeerAccess(to.cu_ctx(), 0) };
            match switched {
                sys::CUresult::CUDA_SUCCESS | sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => {}
                sys::CUresult::CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => {
                    return Err(CudaError::NoPeerAccess { from: from.ordinal(), to: to.ordinal() });
                }
                other => other.result().map_err(failed(from.ordinal(), "switching on peer access"))?,
            }
        }
    }
    Ok(())
}

/// The kernels, loaded into a card; compiled once for all cards of a kind.
fn functions(
    context: &Arc<CudaContext>,
    compiled: &mut HashMap<(u32, usize), Vec<u8>>,
) -> Result<HashMap<Kernel, CudaFunction>, CudaError> {
    let (ordinal, capability) = (context.ordinal(), capability(context)?);
    let mut functions = HashMap::new();
    for (number, source) in SOURCES.iter().enumerate() {
        let image = match compiled.entry((capability, number)) {
            Entry::Occupied(image) => image.into_mut(),
            Entry::Vacant(place) => place.insert(compile(source, Architecture::Real(capability))?.image),
        };
        let module = context.load_module(Ptx::from_binary(image.clone())).map_err(failed(ordinal, "loading kernels"))?;
        for &kernel in source.kernels {
            functions.insert(kernel, module.load_function(kernel.entry()).map_err(failed(ordinal, "finding a kernel"))?);
        }
    }
    Ok(functions)
}

impl Chip {
    fn new(context: &Arc<CudaContext>, functions: HashMap<Kernel, CudaFunction>) -> Result<Self, CudaError> {
        let ordinal = context.ordinal();
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = context.attribute(attribute).map_err(failed(ordinal, "counting multiprocessors"))?.unsigned_abs();
        Ok(Self { ordinal, context: context.clone(), functions, multiprocessors })
    }

    fn failed(&self, doing: &'static str) -> impl Fn(result::DriverError) -> CudaError {
        failed(self.ordinal, doing)
    }
}

fn failed(device: usize, doing: &'static str) -> impl Fn(result::DriverError) -> CudaError {
    move |error| CudaError::Driver { device, doing, reason: error.to_string() }
}

impl Device {
    /// Its queue.
    pub(super) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    fn bind(&self) -> Result<(), CudaError> {
        self.chip.context.bind_to_thread().map_err(self.chip.failed("making it current"))
    }
}

impl Card for Device {
    fn allocate(&self, bytes: u64) -> Result<Arc<dyn Memory>, CudaError> {
        self.bind()?;
        // The driver refuses to allocate nothing.
        let bytes = bytes.max(1);
        // SAFETY: the context is current, and the memory is given back when its owner is dropped.
        #[expect(unsafe_code, reason = "the binding's own buffers come from pools, which peers cannot map")]
        let address = unsafe { result::malloc_sync(bytes as usize) }.map_err(self.chip.failed("allocating memory"))?;
        let memory = DeviceMemory { chip: self.chip.clone(), address, bytes };
        // Peers write from streams of their own, which nothing orders behind this one: it has to have ended.
        self.clear(&memory, bytes).and_then(|()| self.synchronize())?;
        Ok(Arc::new(memory))
    }

    fn write(&self, memory: &dyn Memory, at: u64, bytes: &[u8]) -> Result<(), CudaError> {
        self.bind()?;
        let to = address_of(memory, at, bytes.len() as u64);
        // SAFETY: the place is inside of the memory. Bytes in pageable memory have been taken over when the call returns.
        #[expect(unsafe_code, reason = "the binding's safe copies want its own buffers")]
        unsafe { result::memcpy_htod_async(to, bytes, self.stream.cu_stream()) }.map_err(self.chip.failed("copying to it"))
    }

    fn read(&self, memory: &dyn Memory, at: u64, bytes: &mut [u8]) -> Result<(), CudaError> {
        self.bind()?;
        let from = address_of(memory, at, bytes.len() as u64);
        // SAFETY: the place is inside of the memory, and the bytes are borrowed until the copy has ended.
        #[expect(unsafe_code, reason = "the binding's safe copies want its own buffers")]
        let copied = unsafe { result::memcpy_dtoh_async(bytes, from, self.stream.cu_stream()) };
        let synchronized = self.synchronize();
        copied.map_err(self.chip.failed("copying from it")).and(synchronized)
    }

    fn clear(&self, memory: &dyn Memory, bytes: u64) -> Result<(), CudaError> {
        self.bind()?;
        let at = address_of(memory, 0, bytes);
        // SAFETY: the place is inside of the memory.
        #[expect(unsafe_code, reason = "the binding's safe calls want its own buffers")]
        unsafe { result::memset_d8_async(at, 0, bytes as usize, self.stream.cu_stream()) }
            .map_err(self.chip.failed("clearing memory"))
    }

    fn copy(&self, from: &dyn Memory, to: &dyn Memory, bytes: u64) -> Result<(), CudaError> {
        self.bind()?;
        let (from, to) = (address_of(from, 0, bytes), address_of(to, 0, bytes));
        // SAFETY: both places are inside of their memory.
        #[expect(unsafe_code, reason = "the binding's safe copies want its own buffers")]
        unsafe { result::memcpy_dtod_async(to, from, bytes as usize, self.stream.cu_stream()) }
            .map_err(self.chip.failed("copying on it"))
    }

    #[expect(unsafe_code, reason = "kernels take addresses")]
    unsafe fn launch(&self, kernel: Kernel, grid: Grid, arguments: &[u64]) -> Result<(), CudaError> {
        self.bind()?;
        let mut launch = self.stream.launch_builder(&self.chip.functions[&kernel]);
        for argument in arguments {
            launch.arg(argument);
        }
        let shape = LaunchConfig { grid_dim: (grid.x, grid.y, 1), block_dim: (grid.threads, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the caller's promise.
        unsafe { launch.launch(shape) }.map_err(self.chip.failed("launching a kernel"))?;
        Ok(())
    }

    fn synchronize(&self) -> Result<(), CudaError> {
        self.stream.synchronize().map_err(self.chip.failed("waiting for its work"))
    }

    fn blocks(&self) -> u32 {
        // Two blocks of 512 threads fill a multiprocessor at the registers that the copies use.
        2 * self.chip.multiprocessors
    }

    fn threads(&self) -> u32 {
        512
    }
}

struct DeviceMemory {
    chip: Arc<Chip>,
    address: sys::CUdeviceptr,
    bytes: u64,
}

// SAFETY: allocated with this length, given back only on drop.
#[expect(unsafe_code, reason = "the trait is a promise about addresses")]
unsafe impl Memory for DeviceMemory {
    fn address(&self) -> u64 {
        self.address
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // Memory of a context that is gone is gone as well, and nobody is left to be told.
        if self.chip.context.bind_to_thread().is_ok() {
            // SAFETY: allocated once, given back once; kernels that use it have ended, or the ranks would still hold it.
            #[expect(unsafe_code, reason = "the counterpart of the allocation")]
            let _ = unsafe { result::free_sync(self.address) };
        }
    }
}
