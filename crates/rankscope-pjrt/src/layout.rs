//! PJRT's structures, as much of them as a profiler has: version 1 of the extension, as jax 0.10 calls it.
//!
//! A structure of arguments begins with its length, which ends with its last field and not with what would fill up a word. Where a host
//! says it is another matter: see `calls`.
#![expect(unsafe_code, reason = "tables are shared by threads")]

use std::ffi::{c_char, c_int, c_void};

/// What every call of the profiler returns: null, or an error.
pub type Answer = *mut c_void;

/// A function that is called with the place of its arguments.
pub type Call<Args> = unsafe extern "C" fn(*mut Args) -> Answer;

macro_rules! layouts {
    ($($(#[$doc:meta])* $name:ident, $needs:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name {
                /// How long the host thinks it is.
                pub struct_size: usize,
                $($(#[$field_doc])* pub $field: $type,)*
            }

            impl Arguments for $name {
                const NEEDS: usize = $needs;
            }

            const _: () = assert!(size_of::<$name>().next_multiple_of(8) == usize::next_multiple_of($needs, 8));
        )*
    };
}

/// A structure of arguments.
pub trait Arguments: Copy {
    /// How long it is up to its last field.
    const NEEDS: usize;
}

layouts! {
    /// Of `error_destroy`.
    ErrorDestroy, 24 {
        /// The state of the table.
        state: *mut c_void,
        /// What is not needed any more.
        error: *mut c_void,
    }
    /// Of `error_message`.
    ErrorMessage, 40 {
        /// The state of the table.
        state: *mut c_void,
        /// What is asked about.
        error: *mut c_void,
        /// Out: its text, until the error is destroyed.
        message: *const c_char,
        /// Out: how long that is.
        message_size: usize,
    }
    /// Of `error_get_code`.
    ErrorCode, 28 {
        /// The state of the table.
        state: *mut c_void,
        /// What is asked about.
        error: *mut c_void,
        /// Out: its number among those of `absl::StatusCode`.
        code: c_int,
    }
    /// Of `create`.
    Create, 32 {
        /// A ProfileOptions as protobuf.
        options: *const c_char,
        /// How long that is.
        options_size: usize,
        /// Out: the profiler.
        profiler: *mut c_void,
    }
    /// Of `start`, `stop` and `destroy`.
    OfProfiler, 16 {
        /// Which.
        profiler: *mut c_void,
    }
    /// Of `collect_data`.
    Collect, 32 {
        /// Which.
        profiler: *mut c_void,
        /// In: where to write; null for the profiler's own, which is then out.
        buffer: *mut u8,
        /// How long it is.
        buffer_size: usize,
    }
}

/// The table of the profiler's functions. jaxlib wants it to be exactly as long as the one it knows. Others may leave functions out.
#[repr(C)]
#[derive(Debug)]
pub struct ProfilerApi {
    /// 80.
    pub struct_size: usize,
    /// Nothing.
    pub state: *mut c_void,
    /// Frees an error.
    pub error_destroy: Option<unsafe extern "C" fn(*mut ErrorDestroy)>,
    /// What it says.
    pub error_message: Option<unsafe extern "C" fn(*mut ErrorMessage)>,
    /// Which it is.
    pub error_get_code: Option<Call<ErrorCode>>,
    /// Makes a profiler.
    pub create: Option<Call<Create>>,
    /// Frees it, and what it handed out.
    pub destroy: Option<Call<OfProfiler>>,
    /// It begins to run.
    pub start: Option<Call<OfProfiler>>,
    /// It ends.
    pub stop: Option<Call<OfProfiler>>,
    /// What it found, as an XSpace.
    pub collect_data: Option<Call<Collect>>,
}

// SAFETY: nobody writes to a table once it is handed out, and its state is passed on and not looked at.
unsafe impl Sync for ProfilerApi {}

/// The number of the profiler among extensions.
pub const PROFILER: c_int = 1;

/// The extension that holds the table.
#[repr(C)]
#[derive(Debug)]
pub struct ProfilerExtension {
    /// 40.
    pub struct_size: usize,
    /// [`PROFILER`].
    pub sort: c_int,
    /// The next extension; null behind the last.
    pub next: *const c_void,
    /// The table.
    pub profiler: *const ProfilerApi,
    /// Only for extensions of arguments.
    pub traceme_context_id: i64,
}

/// Which PJRT this is.
#[repr(C)]
#[derive(Debug)]
pub struct Version {
    /// 24.
    pub struct_size: usize,
    /// Extensions of it: none.
    pub extensions: *const c_void,
    /// Changes when older hosts cannot go on.
    pub major: c_int,
    /// Changes otherwise.
    pub minor: c_int,
}

/// PJRT's own table, up to the function that looks into errors: a host that has it calls it for every error, also for one of its own.
/// Tables of others are longer or shorter, but begin alike.
#[repr(C)]
#[derive(Debug)]
pub struct PjrtApi {
    /// How long it is.
    pub struct_size: usize,
    /// The first extension.
    pub extensions: *const ProfilerExtension,
    /// Which PJRT this is.
    pub version: Version,
    /// Frees an error of the back end.
    pub error_destroy: unsafe extern "C" fn(*mut ErrorDestroy),
    /// What it says.
    pub error_message: unsafe extern "C" fn(*mut ErrorMessage),
    /// Which it is.
    pub error_get_code: Call<ErrorCode>,
    /// All else that a back end does.
    pub functions: [Call<c_void>; 129],
}

const _: () = {
    assert!(size_of::<ProfilerApi>() == 80 && size_of::<ProfilerExtension>() == 40);
    assert!(size_of::<Version>() == 24 && size_of::<PjrtApi>() == 1096);
};
