//! [`Second`]: the second version of CUPTI's interface, in which each of several subscribers has its own records, of the fields it chose.
//!
//! While somebody is subscribed so and has chosen fields, calls of the first version mean nothing to the library. So whoever is subscribed
//! here is noted, and [`Library`](crate::library::Library) makes each call through the functions below for as long as that is so.
#![expect(unsafe_code, reason = "functions of another library are called by their documented signatures")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use libloading::os::unix::Library as Loaded;
use rankscope_devices::functions;

use crate::abi::{
    ActivityConfig, ApiCallChoice, ApiOptions, Attribute, CompleteInfo, Domain, FieldSelection, Kind, Status, SubscriberParams,
    chosen_fields,
};
use crate::layout::Layouts;
use crate::library::{Subscriber, Told};

/// What CUPTI asks for a buffer.
pub(crate) type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize, *const c_void);
/// What CUPTI hands a buffer back to.
pub(crate) type Completed = unsafe extern "C" fn(*mut u8, usize, usize, *const CompleteInfo);

functions! {
    /// The functions, all of which the first version has that has them complete, CUDA 13.3.
    Functions
    needed {
        subscribe: "cuptiSubscribe_v2" = fn(*mut Subscriber, Told, *mut c_void, *mut SubscriberParams);
        set_attribute: "cuptiActivitySetAttribute_v2" = fn(Subscriber, c_int, *mut usize, *mut c_void);
        register_callbacks: "cuptiActivityRegisterCallbacks_v2" = fn(Subscriber, Requested, Completed);
        enable: "cuptiActivityEnable_v2" = fn(Subscriber, u32, *const ActivityConfig);
        disable: "cuptiActivityDisable_v2" = fn(Subscriber, u32, *const ActivityConfig);
        next_record: "cuptiActivityGetNextRecord_v2" = fn(Subscriber, *const u8, usize, *mut *const u8);
        dropped_records: "cuptiActivityGetNumDroppedRecords_v2" = fn(Subscriber, *mut c_void, u32, *mut usize);
        push_external: "cuptiActivityPushExternalCorrelationId_v2" = fn(Subscriber, c_int, u64);
        pop_external: "cuptiActivityPopExternalCorrelationId_v2" = fn(Subscriber, c_int, *mut u64);
        get_timestamp: "cuptiGetTimestamp_v2" = fn(Subscriber, *mut u64);
    }
    known {
        choose_runtime_call: "cuptiActivityEnableRuntimeApi_v2" = fn(Subscriber, u32, u8);
        choose_driver_call: "cuptiActivityEnableDriverApi_v2" = fn(Subscriber, u32, u8);
    }
}

/// The second version, of a library that has it.
pub(crate) struct Second {
    functions: Functions,
    /// Null while nobody of ours is subscribed so.
    subscriber: AtomicPtr<c_void>,
    /// A kind may be asked for with some of its calls alone: from CUDA 13.4 on.
    has_options: AtomicBool,
    pub(crate) layouts: Layouts,
}

/// Why a subscriber is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotTaken {
    pub(crate) status: Status,
    /// Who is there, as the library calls it.
    pub(crate) holder: Option<String>,
}

impl Second {
    /// That of this library, if it has all of it.
    pub(crate) fn of(library: &Loaded) -> Option<Self> {
        // SAFETY: these are the types of CUPTI's public functions, which never changed.
        let functions = unsafe { Functions::of(library) }.ok()?;
        let subscriber = AtomicPtr::new(ptr::null_mut());
        Some(Self { functions, subscriber, has_options: AtomicBool::new(false), layouts: Layouts::default() })
    }

    /// Whether single calls can be taken out of those of a kind: from CUDA 13.3 on.
    pub(crate) fn can_leave_calls_out(&self) -> bool {
        self.functions.choose_runtime_call.is_some() && self.functions.choose_driver_call.is_some()
    }

    /// The same, while somebody is subscribed through it.
    pub(crate) fn in_use(&self) -> Option<InUse<'_>> {
        let subscriber = self.subscriber.load(Ordering::Acquire);
        let has_options = self.has_options.load(Ordering::Relaxed);
        (!subscriber.is_null()).then_some(InUse { functions: &self.functions, subscriber, has_options })
    }

    /// Subscribes beside others, where they allow it, and is in use from now on. Who was there before, if anybody. `has_options` says whether
    /// the library is of a version in which a kind may be asked for with some of its calls alone.
    ///
    /// # Errors
    /// Most often that somebody is there who allows no others.
    pub(crate) fn subscribe(&self, told: Told, has_options: bool) -> Result<(Subscriber, Option<String>), NotTaken> {
        let (subscriber, first) = subscribe(self.functions.subscribe, told, true)?;
        self.layouts.forget();
        self.has_options.store(has_options, Ordering::Relaxed);
        self.subscriber.store(subscriber, Ordering::Release);
        Ok((subscriber, first))
    }

    /// It is in use no more, if it is `subscriber` who used it.
    pub(crate) fn leave(&self, subscriber: Subscriber) {
        let _ = self.subscriber.compare_exchange(subscriber, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// `cuptiSubscribe_v2`.
pub(crate) type Subscribe = unsafe extern "C" fn(*mut Subscriber, Told, *mut c_void, *mut SubscriberParams) -> c_int;

/// Subscribes, and says who was there first.
///
/// # Errors
/// Who is there and allows no others, or is not allowed by us.
pub(crate) fn subscribe(
    function: Subscribe,
    told: Told,
    allows_others: bool,
) -> Result<(Subscriber, Option<String>), NotTaken> {
    let mut name = [0_u8; NAME_BYTES];
    let mut params = SubscriberParams {
        struct_size: size_of::<SubscriberParams>(),
        subscriber_name: c"rankscope".as_ptr(),
        old_subscriber_name: name.as_mut_ptr().cast::<c_char>(),
        // The last byte stays zero, whatever the library writes.
        old_subscriber_size: NAME_BYTES - 1,
        allow_multiple_subscribers: allows_others.into(),
        padding: [0; 7],
    };
    let mut subscriber = ptr::null_mut();
    // SAFETY: the struct is the one of CUPTI 13 and says its size; its texts live as long as the call, and the function for ever.
    let status = Status(unsafe { function(&raw mut subscriber, told, ptr::null_mut(), &raw mut params) });
    let name = CStr::from_bytes_until_nul(&name).ok().map(|name| name.to_string_lossy().into_owned());
    let name = name.filter(|name| !name.is_empty());
    match status.done() {
        Ok(()) if !subscriber.is_null() => Ok((subscriber, name)),
        Ok(()) => Err(NotTaken { status: Status::NOT_COMPATIBLE, holder: name }),
        Err(status) => Err(NotTaken { status, holder: name }),
    }
}

/// Names of subscribers have up to 63 bytes.
const NAME_BYTES: usize = 128;

/// The second version with who is subscribed. Calls with one who has left are refused by the library.
pub(crate) struct InUse<'s> {
    functions: &'s Functions,
    subscriber: Subscriber,
    has_options: bool,
}

impl InUse<'_> {
    /// Whether [`enable`](Self::enable) takes calls; else there is [`enable_without`](Self::enable_without).
    pub(crate) fn has_options(&self) -> bool {
        self.has_options
    }

    /// Records are to have the fields that are chosen, and these two are asked for buffers and given them.
    pub(crate) fn prepare(&self, requested: Requested, completed: Completed) -> Result<(), Status> {
        self.set(Attribute::ChosenFields, 1_u8)?;
        // SAFETY: both functions live as long as the process.
        Status(unsafe { (self.functions.register_callbacks)(self.subscriber, requested, completed) }).done()
    }

    /// Calls are to say which thread they are of by the system's number.
    pub(crate) fn number_threads_as_the_system_does(&self) -> Result<(), Status> {
        const SYSTEM: c_int = 1;
        self.set(Attribute::ThreadIds, SYSTEM)
    }

    fn set<T>(&self, attribute: Attribute, mut value: T) -> Result<(), Status> {
        let mut bytes = size_of::<T>();
        // SAFETY: a value of the attribute's type, and how long it is; so below wherever only words of ours and numbers are passed.
        Status(unsafe {
            (self.functions.set_attribute)(self.subscriber, attribute as c_int, &raw mut bytes, (&raw mut value).cast())
        })
        .done()
    }

    /// Records a kind, and of calls only those in `calls` where there are such.
    pub(crate) fn enable(&self, kind: Kind, calls: Option<&[u32]>) -> Result<(), Status> {
        let fields = chosen_fields(kind);
        let chosen = calls.map(|calls| ApiCallChoice {
            struct_size: size_of::<ApiCallChoice>(),
            calls: calls.as_ptr(),
            count: calls.len(),
            is_on: 1,
        });
        let options = chosen.as_ref().map(|calls| ApiOptions { struct_size: size_of::<ApiOptions>(), calls });
        let config = ActivityConfig {
            // A version without options knows a shorter one.
            struct_size: if self.has_options { size_of::<ActivityConfig>() } else { offset_of!(ActivityConfig, kind_options) },
            fields: FieldSelection { struct_size: size_of::<FieldSelection>(), count: fields.len(), ids: fields.as_ptr() },
            kind_options: options.as_ref().map_or(ptr::null(), |options| ptr::from_ref(options).cast()),
        };
        // SAFETY: structs of CUPTI 13.3 or 13.4 that say their sizes, and live as long as the call.
        Status(unsafe { (self.functions.enable)(self.subscriber, kind as u32, &raw const config) }).done()
    }

    /// Records all calls of a kind but these. The kind goes first, because asking for it takes back what was said of single calls.
    pub(crate) fn enable_without(&self, kind: Kind, domain: Domain, calls: &[u32]) -> Result<(), Status> {
        self.enable(kind, None)?;
        let leave_out = match domain {
            Domain::Driver => self.functions.choose_driver_call,
            Domain::Runtime => self.functions.choose_runtime_call,
        };
        // SAFETY: see `set`.
        let leave_out =
            |cbid: u32| leave_out.map_or(Status::NOT_COMPATIBLE, |ask| Status(unsafe { ask(self.subscriber, cbid, 0) }));
        let done = calls.iter().try_for_each(|cbid| leave_out(*cbid).done());
        // All calls of the driver are too many.
        done.inspect_err(|_| {
            let _ = self.disable(kind);
        })
    }

    pub(crate) fn disable(&self, kind: Kind) -> Result<(), Status> {
        // SAFETY: numbers, and no options.
        Status(unsafe { (self.functions.disable)(self.subscriber, kind as u32, ptr::null()) }).done()
    }

    pub(crate) fn timestamp_ns(&self) -> Result<u64, Status> {
        let mut ns = 0;
        // SAFETY: see `set`.
        Status(unsafe { (self.functions.get_timestamp)(self.subscriber, &raw mut ns) }).done().map(|()| ns)
    }

    /// As [`Library::dropped_records`](crate::library::Library::dropped_records).
    pub(crate) fn dropped_records(&self, dropped: &mut usize) -> c_int {
        // SAFETY: without a context the whole process is meant, and the word is ours.
        unsafe { (self.functions.dropped_records)(self.subscriber, ptr::null_mut(), 0, dropped) }
    }

    /// As the library's own, which says what `record` is.
    ///
    /// # Safety
    /// The buffer is one that CUPTI filled and gave back, and the record lies in it or is null.
    pub(crate) unsafe fn next_record(&self, buffer: &[u8], record: &mut *const u8) -> c_int {
        // SAFETY: the caller says so.
        unsafe { (self.functions.next_record)(self.subscriber, buffer.as_ptr(), buffer.len(), record) }
    }

    pub(crate) fn push_external(&self, kind: c_int, id: u64) {
        // SAFETY: numbers. What it returns changes nothing for the caller, who is in the middle of the program's call.
        unsafe { (self.functions.push_external)(self.subscriber, kind, id) };
    }

    pub(crate) fn pop_external(&self, kind: c_int) {
        let mut last = 0;
        // SAFETY: see `set`.
        unsafe { (self.functions.pop_external)(self.subscriber, kind, &raw mut last) };
    }
}
