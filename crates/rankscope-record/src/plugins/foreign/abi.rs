//! What plugins and the recorder know of each other: tables and structures that begin with their size. They grow at their end.

use std::ffi::{c_char, c_void};

/// Rises when something of the plugin interface changes its meaning. What is added does not raise it.
pub const PLUGIN_ABI_VERSION: u32 = 1;

/// The function `rankscope_plugin_entry` of a shared library: given the recorder's `RANKSCOPE_PLUGIN_ABI_VERSION`, it returns its
/// table, which lives as long as the process; null if it cannot work with that version.
pub type PluginEntry = Option<unsafe extern "C" fn(abi_version: u32) -> *const Plugin>;

/// A plugin. Every function that returns a number returns zero for success; anything else switches the plugin off for the session.
/// Functions may be null where the plugin has nothing to do, but for `create`. They must not throw and not unwind.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Plugin {
    /// `sizeof(rankscope_plugin)`.
    pub struct_size: u32,
    /// `RANKSCOPE_PLUGIN_ABI_VERSION`.
    pub abi_version: u32,
    /// What it is called in reports and metadata.
    pub name: *const c_char,
    /// Bytes of the name.
    pub name_bytes: usize,
    /// Which clock its times are of: 3 is `CLOCK_REALTIME` (as CUPTI has it), 1 `CLOCK_MONOTONIC_RAW`, 2 `CLOCK_MONOTONIC`, 4
    /// `CLOCK_BOOTTIME`.
    pub clock: u32,
    /// Zero.
    pub reserved: u32,
    /// Handed to `is_enabled` and `create`.
    pub context: *mut c_void,
    /// Whether it takes part in a session; not zero is yes. Null is yes.
    pub is_enabled: Option<unsafe extern "C" fn(context: *mut c_void) -> i32>,
    /// Gets ready for a session, and returns what stands for it in the calls that follow. `host` lives as long as the process,
    /// `about` as long as the call.
    pub create: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            host: *const Host,
            about: *const SessionAbout,
            session: *mut *mut c_void,
        ) -> i32,
    >,
    /// The session records from now on.
    pub start: Option<unsafe extern "C" fn(session: *mut c_void) -> i32>,
    /// The session is about to end; plugins stop in reverse order of their start.
    pub stop: Option<unsafe extern "C" fn(session: *mut c_void) -> i32>,
    /// Hands over what was collected, through `emit`, which lives as long as the call.
    pub collect: Option<unsafe extern "C" fn(session: *mut c_void, emit: *const Emit) -> i32>,
    /// Says in words why the last call failed: writes at most `bytes` bytes to `text`, and returns how many.
    pub describe_error: Option<unsafe extern "C" fn(session: *mut c_void, text: *mut c_char, bytes: usize) -> usize>,
    /// The last call for a session that was created, whatever became of it. Not made in the child of a fork.
    pub destroy: Option<unsafe extern "C" fn(session: *mut c_void)>,
}

/// What the recorder does for a plugin, on any thread and at any time.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Host {
    /// `sizeof(rankscope_plugin_host)`.
    pub struct_size: u32,
    /// The recorder's `RANKSCOPE_PLUGIN_ABI_VERSION`.
    pub abi_version: u32,
    /// The correlation id of the span that work belongs to which the calling thread launches now; zero for none. To be tied to the
    /// launch with a `rankscope_tie`.
    pub current_correlation: Option<unsafe extern "C" fn() -> u64>,
    /// What one of the clocks shows, in nanoseconds; zero for a clock that there is not.
    pub clock_ns: Option<unsafe extern "C" fn(clock: u32) -> i64>,
}

/// What a plugin is told of a session.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SessionAbout {
    /// `sizeof(rankscope_plugin_session_about)`.
    pub struct_size: u32,
    /// Sorts of events that are recorded, a bit each.
    pub categories: u32,
    /// The live file that is recorded into; null in memory.
    pub path: *const c_char,
    /// Bytes of its path.
    pub path_bytes: usize,
}

/// What takes what a plugin collected. All functions return a `rankscope_status`: `RANKSCOPE_STATUS_INVALID_ARGUMENT` for what cannot
/// be, which is counted and left out. They are to be called on the thread that called `collect`, before it returns.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Emit {
    /// `sizeof(rankscope_emit)`.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// To be handed to each of the functions.
    pub sink: *mut c_void,
    /// What a device is.
    pub device: Option<unsafe extern "C" fn(sink: *mut c_void, info: *const DeviceInfo) -> i32>,
    /// What a stream, queue or other row of a device is.
    pub resource: Option<unsafe extern "C" fn(sink: *mut c_void, info: *const ResourceInfo) -> i32>,
    /// Work of a device, or a call into its library. In any order.
    pub activity: Option<unsafe extern "C" fn(sink: *mut c_void, activity: *const Activity) -> i32>,
    /// Which span a call belongs to. In any order, and also before or after the call.
    pub tie: Option<unsafe extern "C" fn(sink: *mut c_void, tie: *const Tie) -> i32>,
    /// A number, as of now.
    pub counter: Option<unsafe extern "C" fn(sink: *mut c_void, name: *const c_char, name_bytes: usize, value: f64) -> i32>,
    /// Something to know about the recording: JSON text; what is not is kept as a text.
    pub metadata: Option<
        unsafe extern "C" fn(
            sink: *mut c_void,
            key: *const c_char,
            key_bytes: usize,
            json: *const c_char,
            json_bytes: usize,
        ) -> i32,
    >,
    /// Something that is missing or went wrong, without the rest being lost: a `RANKSCOPE_PROBLEM_SEVERITY_`, and words.
    pub problem: Option<unsafe extern "C" fn(sink: *mut c_void, severity: u32, text: *const c_char, bytes: usize) -> i32>,
}

/// A device.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DeviceInfo {
    /// `sizeof(rankscope_device_info)`.
    pub struct_size: u32,
    /// Its number.
    pub id: u32,
    /// What it is called.
    pub name: *const c_char,
    /// Bytes of the name.
    pub name_bytes: usize,
    /// What else there is to know, as a JSON object; null is nothing.
    pub properties: *const c_char,
    /// Bytes of that.
    pub properties_bytes: usize,
}

/// A stream, queue or other row of a device.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ResourceInfo {
    /// `sizeof(rankscope_resource_info)`.
    pub struct_size: u32,
    /// The device.
    pub device: u32,
    /// Its number there.
    pub id: u64,
    /// What it is called.
    pub name: *const c_char,
    /// Bytes of the name.
    pub name_bytes: usize,
}

/// Something that took time on a device, or in a call into its library.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Activity {
    /// `sizeof(rankscope_activity)`.
    pub struct_size: u32,
    /// What it is: a `RANKSCOPE_CATEGORY_`. Those of a runtime or driver are calls.
    pub category: u32,
    /// The kernel, the copy or the call.
    pub name: *const c_char,
    /// Bytes of the name.
    pub name_bytes: usize,
    /// When it started, by the plugin's clock; zero if the library could not tell, and then it is left out and counted.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
    /// The device; for a call, zero.
    pub device: u32,
    /// Zero.
    pub reserved: u32,
    /// The stream or queue; for a call, the thread by the operating system's number.
    pub stream: u64,
    /// The library's number of the call behind it, or of the call itself; zero for none.
    pub correlation: u64,
}

/// Says which span was open when a call was made.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Tie {
    /// `sizeof(rankscope_tie)`.
    pub struct_size: u32,
    /// A `RANKSCOPE_TIE_KIND_`.
    pub kind: u32,
    /// The correlation id of the span.
    pub external_id: u64,
    /// The library's number of the call.
    pub correlation: u64,
}

/// What a tie is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TieKind {
    /// Any span.
    Span = 0,
    /// A range that the program names itself: the device work under it is shown as one range on the device, too.
    UserAnnotation = 1,
}

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProblemSeverity {
    /// Something is missing.
    Warning = 0,
    /// What was collected is not to be relied on.
    Error = 1,
}
