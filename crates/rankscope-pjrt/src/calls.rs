//! The functions that jaxlib calls.
//!
//! Arguments begin with their length, and only those about errors can be held to it: jaxlib 0.10.2 leaves the length of all others as it
//! finds it in memory (a `stop` came with 1). Of those there has been one layout since the table has its present length, which jaxlib
//! compares exactly, so what is not null has it.
#![expect(unsafe_code, reason = "C calls, and passes pointers")]

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::Arc;

use crate::edge::{answered, guarded};
use crate::failure::Failure;
use crate::forwarded::Forwarded;
use crate::layout::{
    Answer, Arguments, Collect, Create, ErrorCode, ErrorDestroy, ErrorMessage, OfProfiler, PROFILER, PjrtApi, ProfilerApi,
    ProfilerExtension, Version,
};
use crate::profiler::Profiler;
use crate::profilers::own;
use crate::vendor::vendor;

/// A place of arguments that are there.
struct Args<T>(*mut T);

impl<T> Args<T> {
    fn at(at: *mut T) -> Result<Self, Failure> {
        if at.is_null() { Err(Failure::NoArguments) } else { Ok(Self(at)) }
    }

    /// Those of a call whose host says how long they are.
    ///
    /// # Safety
    /// `at` is null or a structure that begins with its length.
    unsafe fn measured(at: *mut T) -> Result<Self, Failure>
    where
        T: Arguments,
    {
        let Self(at) = Self::at(at)?;
        // SAFETY: the caller's promise.
        let has = unsafe { at.cast::<usize>().read() };
        if has < T::NEEDS { Err(Failure::ShortArguments { has, needs: T::NEEDS }) } else { Ok(Self(at)) }
    }
}

unsafe extern "C" fn error_destroy(args: *mut ErrorDestroy) {
    guarded((), || {
        // SAFETY: the host's promise.
        if let Ok(Args(args)) = unsafe { Args::measured(args) } {
            // SAFETY: it is long enough.
            own().errors.take(unsafe { (*args).error }.addr());
        }
    });
}

unsafe extern "C" fn error_message(args: *mut ErrorMessage) {
    guarded((), || {
        // SAFETY: the host's promise.
        let Ok(Args(args)) = (unsafe { Args::measured(args) }) else { return };
        let text = |told: &crate::failure::Told| (told.text.as_ptr().cast::<c_char>(), told.text.len());
        // SAFETY: it is long enough, here and below.
        let error = unsafe { (*args).error }.addr();
        // What is no error has no text.
        let (message, length) = own().errors.with(error, text).unwrap_or((c"".as_ptr(), 0));
        unsafe {
            (*args).message = message;
            (*args).message_size = length;
        }
    });
}

unsafe extern "C" fn error_get_code(args: *mut ErrorCode) -> Answer {
    answered(|| {
        // SAFETY: the host's promise.
        let Args(args) = unsafe { Args::measured(args) }?;
        // SAFETY: it is long enough, here and below.
        let code = own().errors.with(unsafe { (*args).error }.addr(), |told| told.code);
        unsafe { (*args).code = code.ok_or(Failure::NoError)? };
        Ok(())
    })
}

unsafe extern "C" fn create(args: *mut Create) -> Answer {
    answered(|| {
        let Args(args) = Args::at(args)?;
        // SAFETY: it is there, here and below. Its options are for others.
        let vendors = unsafe { Forwarded::new((*args).options, (*args).options_size) };
        let number = own().profilers.put(Arc::new(Profiler::new(vendors)));
        unsafe { (*args).profiler = ptr::without_provenance_mut(number) };
        Ok(())
    })
}

/// The profiler that `args` name.
///
/// # Safety
/// `args` is null or what its type says.
unsafe fn profiler(args: *mut OfProfiler) -> Result<Arc<Profiler>, Failure> {
    let Args(args) = Args::at(args)?;
    // SAFETY: it is there.
    own().profilers.with(unsafe { (*args).profiler }.addr(), Arc::clone).ok_or(Failure::NoProfiler)
}

unsafe extern "C" fn start(args: *mut OfProfiler) -> Answer {
    // SAFETY: the host's promise.
    answered(|| unsafe { profiler(args) }?.start())
}

unsafe extern "C" fn stop(args: *mut OfProfiler) -> Answer {
    // SAFETY: the host's promise.
    answered(|| unsafe { profiler(args) }?.stop())
}

unsafe extern "C" fn collect_data(args: *mut Collect) -> Answer {
    answered(|| {
        let Args(args) = Args::at(args)?;
        // SAFETY: it is there, here and below.
        let (profiler, buffer, has) = unsafe { ((*args).profiler.addr(), (*args).buffer, (*args).buffer_size) };
        // A host that found no buffer but a length would read it: whatever goes wrong below, there is nothing to read.
        unsafe { (*args).buffer_size = 0 };
        let found = own().profilers.with(profiler, Arc::clone).ok_or(Failure::NoProfiler)?;
        let bytes = found.collect()?;
        if buffer.is_null() {
            // The session keeps the bytes until it is destroyed, and jaxlib only reads.
            unsafe { (*args).buffer = bytes.as_ptr().cast_mut() };
        } else if has < bytes.len() {
            return Err(Failure::SmallBuffer { has, needs: bytes.len() });
        } else {
            // SAFETY: the host says that there is room for so many.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), buffer, bytes.len()) };
        }
        unsafe { (*args).buffer_size = bytes.len() };
        Ok(())
    })
}

unsafe extern "C" fn destroy(args: *mut OfProfiler) -> Answer {
    answered(|| {
        let Args(args) = Args::at(args)?;
        // SAFETY: it is there.
        let profiler = unsafe { (*args).profiler };
        if profiler.is_null() {
            return Ok(());
        }
        let profiler = own().profilers.take(profiler.addr()).ok_or(Failure::NoProfiler)?;
        // One that still runs has a thread, which would keep it.
        let _ = profiler.stop();
        Ok(())
    })
}

/// A back end would do this.
unsafe extern "C" fn no_back_end(_: *mut c_void) -> Answer {
    answered(|| Err(Failure::NoBackEnd))
}

/// Something that nobody changes.
struct Constant<T>(T);

// SAFETY: what is in it is only read, by any thread.
unsafe impl<T> Sync for Constant<T> {}

/// Our profiler.
pub(crate) static TABLE: ProfilerApi = ProfilerApi {
    struct_size: size_of::<ProfilerApi>(),
    state: ptr::null_mut(),
    error_destroy: Some(error_destroy),
    error_message: Some(error_message),
    error_get_code: Some(error_get_code),
    create: Some(create),
    destroy: Some(destroy),
    start: Some(start),
    stop: Some(stop),
    collect_data: Some(collect_data),
};

static EXTENSION: Constant<ProfilerExtension> = Constant(ProfilerExtension {
    struct_size: size_of::<ProfilerExtension>(),
    sort: PROFILER,
    next: ptr::null(),
    profiler: &raw const TABLE,
    traceme_context_id: 0,
});

/// What is handed out where there is no vendor. A host that takes it for a back end is told so by an error, and does not jump to null.
static API: Constant<PjrtApi> = Constant(PjrtApi {
    struct_size: size_of::<PjrtApi>(),
    extensions: &raw const EXTENSION.0,
    // What jax 0.10.2 has.
    version: Version { struct_size: size_of::<Version>(), extensions: ptr::null(), major: 0, minor: 112 },
    // Errors of a back end are asked about and freed as a profiler's are.
    error_destroy,
    error_message,
    error_get_code,
    functions: [no_back_end; 129],
});

/// What a host asks a library of PJRT for: the vendor's table with our profiler before its own, or one with a profiler and no back end.
#[unsafe(no_mangle)]
pub extern "C" fn GetPjrtApi() -> *const c_void {
    guarded(&raw const API.0, || vendor().map_or(&raw const API.0, |vendor| vendor.api())).cast()
}
