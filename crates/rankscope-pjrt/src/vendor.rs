//! [`Vendor`]: a plugin of somebody else that this library stands for: its back end is handed on, and its profiler called with ours.
//!
//! Its table is copied as long as it says that it is, with one change: the chain of extensions begins with our profiler, behind which the
//! vendor's own extensions follow as they are. A host takes the first of each sort. What cannot be forwarded is said once, and then there
//! is our profiler alone. The library is never unloaded, as a host would not do it either.
#![expect(unsafe_code, reason = "another library's tables are read, and one is handed on")]

use std::env;
use std::ffi::{CStr, CString, OsStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};

use crate::calls::{GetPjrtApi, TABLE};
use crate::layout::{PROFILER, PjrtApi, ProfilerApi, ProfilerExtension, Version};
use crate::unforwarded::{NoProfiler, NoTable, NoVendor};

/// The variable that names the library.
pub(crate) const VARIABLE: &str = "RANKSCOPE_PJRT_FORWARD";

/// What a table begins with, and so needs to be known by.
const HEAD_BYTES: usize = size_of::<usize>() + size_of::<*const c_void>() + size_of::<Version>();

/// More than any table will have: jax 0.10 has 1,144.
const TABLE_BYTES_MAX: usize = 1 << 16;

/// An extension up to the table of the profiler; and how many may follow each other. Plugins of CUDA have 12.
const EXTENSION_BYTES: usize = 32;
const EXTENSIONS_MAX: usize = 1_000;

/// What is asked of a vendor's profiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Create,
    Start,
    Stop,
    Collect,
    Destroy,
}

/// The plugin.
#[derive(Debug)]
pub(crate) struct Vendor {
    name: String,
    /// Its table with our profiler.
    api: Shared<PjrtApi>,
    profiler: Option<&'static ProfilerApi>,
    /// A bit for each step that has failed before.
    failed: AtomicU32,
}

/// What nobody writes to from now on.
#[derive(Debug)]
struct Shared<T>(*const T);

// SAFETY: what it leads to is only read, by any thread, and never freed.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: see above.
unsafe impl<T> Sync for Shared<T> {}

/// The vendor of this process, which is looked for once.
///
/// # Errors
/// Why there is none; that was said, unless nobody asked for one.
pub(crate) fn vendor() -> Result<&'static Vendor, &'static NoVendor> {
    static VENDOR: OnceLock<Result<Vendor, NoVendor>> = OnceLock::new();
    let found = VENDOR.get_or_init(|| {
        let name = env::var_os(VARIABLE).filter(|name| !name.is_empty()).ok_or(NoVendor::NotNamed)?;
        Vendor::load(&name)
    });
    if let Err(why) = found
        && *why != NoVendor::NotNamed
    {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| crate::say(&format!("{VARIABLE}: {why}; traces have the host's clocks alone")));
    }
    found.as_ref()
}

impl Vendor {
    fn load(file: &OsStr) -> Result<Self, NoVendor> {
        let get = entry(file)?;
        let name = file.to_string_lossy().into_owned();
        // SAFETY: what a library of PJRT exports under this name.
        let api = unsafe { get() }.cast::<PjrtApi>();
        // SAFETY: a table of PJRT, which lasts as long as the library.
        let (extensions, bytes) = unsafe { head(api) }.map_err(|why| NoVendor::NoTable { name: name.clone(), why })?;
        // SAFETY: so do its extensions.
        let profiler = unsafe { profiler_of(extensions) };
        if let Err(why) = &profiler {
            crate::say(&format!("{VARIABLE}: {name}: {why}; traces have the host's clocks, and nothing of it"));
        }
        // SAFETY: the table says that it is so long.
        let api = Shared(unsafe { copy(api, bytes, extensions) });
        Ok(Self { name, api, profiler: profiler.ok(), failed: AtomicU32::new(0) })
    }

    /// What a host gets instead of the vendor's own table.
    pub(crate) fn api(&self) -> *const PjrtApi {
        self.api.0
    }

    /// The vendor's profiler, if it has one.
    pub(crate) fn profiler(&self) -> Option<&'static ProfilerApi> {
        self.profiler
    }

    /// Says, once for each step, that it went wrong.
    pub(crate) fn complain(&self, step: Step, why: &str) {
        let bit = 1 << step as u32;
        if self.failed.fetch_or(bit, Ordering::Relaxed) & bit == 0 {
            let step = format!("{step:?}").to_lowercase();
            crate::say(&format!("{VARIABLE}: {}: {step}: {why}; what it has recorded is missing in such a trace", self.name));
        }
    }
}

type Get = unsafe extern "C" fn() -> *const c_void;

/// What the library of this name is asked for its table with.
fn entry(file: &OsStr) -> Result<Get, NoVendor> {
    let name = file.to_string_lossy().into_owned();
    let path = CString::new(file.as_bytes()).map_err(|error| NoVendor::NotLoaded { said: error.to_string() })?;
    // SAFETY: the text ends in a zero byte. What the library does when it is loaded is what its user wants.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if library.is_null() {
        return Err(NoVendor::NotLoaded { said: loader_says(&name) });
    }
    // SAFETY: the library is open, and stays so.
    let symbol = unsafe { libc::dlsym(library, c"GetPjrtApi".as_ptr()) };
    if symbol.is_null() {
        return Err(NoVendor::NoEntry { name });
    }
    if symbol.addr() == GetPjrtApi as *const () as usize {
        return Err(NoVendor::Itself { name });
    }
    // SAFETY: what is exported under this name has this type.
    Ok(unsafe { std::mem::transmute::<*mut c_void, Get>(symbol) })
}

fn loader_says(name: &str) -> String {
    // SAFETY: the text, if there is one, lasts until the loader is asked again by this thread.
    let said = unsafe { libc::dlerror().cast_const().as_ref() };
    // SAFETY: as above, and it ends in a zero byte.
    said.map_or_else(
        || format!("{name} cannot be loaded"),
        |said| unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned(),
    )
}

/// The first extension of a table, and how long the table is.
///
/// # Safety
/// `api` is null or a table of PJRT, which begins with its length.
unsafe fn head(api: *const PjrtApi) -> Result<(*const ProfilerExtension, usize), NoTable> {
    if api.is_null() {
        return Err(NoTable::Null);
    }
    // SAFETY: the caller's promise for the length; what comes next is read once it says that it is there.
    unsafe {
        let bytes = (&raw const (*api).struct_size).read();
        if bytes < HEAD_BYTES || (&raw const (*api).version.struct_size).read() < size_of::<Version>() {
            return Err(NoTable::TooOld);
        }
        // Majors are what hosts cannot go on with, and nor can we. The one that there has been is 0.
        if bytes > TABLE_BYTES_MAX || (&raw const (*api).version.major).read() != 0 {
            return Err(NoTable::TooNew);
        }
        Ok(((&raw const (*api).extensions).read(), bytes))
    }
}

/// The first profiler in a chain of extensions.
///
/// # Safety
/// `extensions` is null or leads to one, each of which leads to the next.
unsafe fn profiler_of(extensions: *const ProfilerExtension) -> Result<&'static ProfilerApi, NoProfiler> {
    let mut at = extensions;
    for _ in 0..EXTENSIONS_MAX {
        if at.is_null() {
            return Err(NoProfiler::None);
        }
        // SAFETY: all extensions begin alike, and a profiler's is looked at as far as it says that it reaches.
        unsafe {
            if (&raw const (*at).sort).read() == PROFILER {
                let has = (&raw const (*at).struct_size).read();
                return if has < EXTENSION_BYTES {
                    Err(NoProfiler::Length { has })
                } else {
                    table_of((&raw const (*at).profiler).read())
                };
            }
            at = (&raw const (*at).next).read().cast();
        }
    }
    Err(NoProfiler::Endless)
}

/// # Safety
/// `table` is null or begins with its length.
unsafe fn table_of(table: *const ProfilerApi) -> Result<&'static ProfilerApi, NoProfiler> {
    if table.is_null() {
        return Err(NoProfiler::None);
    }
    // SAFETY: the caller's promise.
    let has = unsafe { (&raw const (*table).struct_size).read() };
    // Tables grow at their ends: that of jax 0.12's plugin for CUDA has room for three calls more, and jaxlib 0.10 would crash over it.
    if has < size_of::<ProfilerApi>() {
        return Err(NoProfiler::Length { has });
    }
    // SAFETY: it is as long as this at least, lasts as long as its library, and each word of it may be null.
    let table = unsafe { &*table };
    let lacks = |name, is_there: bool| if is_there { Ok(()) } else { Err(NoProfiler::Lacks { call: name }) };
    lacks("create", table.create.is_some())?;
    lacks("destroy", table.destroy.is_some())?;
    lacks("start", table.start.is_some())?;
    lacks("stop", table.stop.is_some())?;
    lacks("collect_data", table.collect_data.is_some())?;
    Ok(table)
}

/// The table once more, with our profiler before its `extensions`.
///
/// # Safety
/// `api` is `bytes` long, at least as long as its head.
unsafe fn copy(api: *const PjrtApi, bytes: usize, extensions: *const ProfilerExtension) -> *const PjrtApi {
    let ours = ProfilerExtension {
        struct_size: size_of::<ProfilerExtension>(),
        sort: PROFILER,
        next: extensions.cast(),
        profiler: &raw const TABLE,
        traceme_context_id: 0,
    };
    // In words, because of what they are aligned to. A host keeps it for as long as the process lives.
    let words = Box::leak(vec![0_u64; bytes.div_ceil(8)].into_boxed_slice());
    let copied = words.as_mut_ptr().cast::<PjrtApi>();
    // SAFETY: both are so long, and the copy is ours alone.
    unsafe {
        ptr::copy_nonoverlapping(api.cast::<u8>(), copied.cast::<u8>(), bytes);
        (&raw mut (*copied).extensions).write(Box::leak(Box::new(ours)));
    }
    copied
}
