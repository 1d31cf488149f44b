//! [`Library`]: the functions of CUPTI that are called, found once, and called from nowhere else.
//!
//! A library that is loaded stays loaded to the end of the process, and `cuptiFinalize` is never called: it leaves a process in which
//! nobody can profile any more, and where there is no driver it ends it. Functions that only some versions have may be missing.
//! While we are subscribed through the second version of the interface, its functions are called instead.
#![expect(unsafe_code, reason = "functions of another library are called by their documented signatures")]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use rankscope_devices::{functions, open_first, symbol, text};

use crate::abi::{CallbackData, Domain, Kind, Status};
use crate::absent::Absent;
use crate::layout::Layouts;
use crate::places::Places;
use crate::second::{self, InUse, NotTaken, Second, Subscribe};

/// What CUPTI asks for a buffer.
pub(crate) type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// What CUPTI hands a buffer back to.
pub(crate) type Completed = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
/// What CUPTI tells of a call.
pub(crate) type Told = unsafe extern "C" fn(*mut c_void, c_int, u32, *const CallbackData);
/// Who is told.
pub(crate) type Subscriber = *mut c_void;

functions! {
    /// The functions, as they were found.
    Functions
    needed {
        get_version: "cuptiGetVersion" = fn(*mut u32);
        get_timestamp: "cuptiGetTimestamp" = fn(*mut u64);
        register_callbacks: "cuptiActivityRegisterCallbacks" = fn(Requested, Completed);
        enable: "cuptiActivityEnable" = fn(u32);
        disable: "cuptiActivityDisable" = fn(u32);
        flush_all: "cuptiActivityFlushAll" = fn(u32);
        next_record: "cuptiActivityGetNextRecord" = fn(*const u8, usize, *mut *const u8);
        dropped_records: "cuptiActivityGetNumDroppedRecords" = fn(*mut c_void, u32, *mut usize);
        push_external: "cuptiActivityPushExternalCorrelationId" = fn(c_int, u64);
        pop_external: "cuptiActivityPopExternalCorrelationId" = fn(c_int, *mut u64);
        callback_name: "cuptiGetCallbackName" = fn(c_int, u32, *mut *const c_char);
        subscribe: "cuptiSubscribe" = fn(*mut Subscriber, Told, *mut c_void);
        unsubscribe: "cuptiUnsubscribe" = fn(Subscriber);
        enable_callback: "cuptiEnableCallback" = fn(u32, Subscriber, c_int, u32);
    }
    known {
        enable_runtime_api: "cuptiActivityEnableRuntimeApi" = fn(u32, u8);
        enable_driver_api: "cuptiActivityEnableDriverApi" = fn(u32, u8);
        set_thread_id_type: "cuptiSetThreadIdType" = fn(c_int);
    }
}

/// CUPTI, loaded.
pub(crate) struct Library {
    /// The file it is in.
    pub(crate) file: String,
    functions: Functions,
    /// A library that has not all of the second version may still tell who is subscribed.
    subscribe_v2: Option<Subscribe>,
    second: Option<Second>,
}

impl Library {
    /// The first of `places` that is one.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn load(places: &Places) -> Result<Self, Absent> {
        // SAFETY: the driver is up, and the user asked for CUPTI, and with that for its initialisers to run.
        let opened = unsafe { open_first(&places.mapped, &places.others) };
        let (file, loaded) = opened.map_err(|tried| Absent::NoLibrary { tried })?;
        // SAFETY: these are the types of CUPTI's public functions, which never changed.
        let functions = unsafe { Functions::of(&loaded) };
        let second = Second::of(&loaded);
        // SAFETY: the type of this function of CUPTI 13.
        let subscribe_v2 = unsafe { symbol(&loaded, "cuptiSubscribe_v2") };
        // CUPTI has threads, and calls us until the end of the process.
        std::mem::forget(loaded);
        match functions {
            Ok(functions) => Ok(Self { file, functions, subscribe_v2, second }),
            Err(symbol) => Err(Absent::Incomplete { file, symbol }),
        }
    }

    /// Its version: up to 12.9 a small number, from 13 on one of six digits.
    pub(crate) fn version(&self) -> Result<u32, Status> {
        let mut version = 0;
        // SAFETY: the word is ours; so below wherever only a word of ours and numbers are passed.
        Status(unsafe { (self.functions.get_version)(&raw mut version) }).done().map(|()| version)
    }

    /// What its clock shows; an error is told as the status.
    pub(crate) fn timestamp_ns(&self) -> Result<u64, Status> {
        if let Some(second) = self.in_use() {
            return second.timestamp_ns();
        }
        let mut ns = 0;
        // SAFETY: see `version`.
        Status(unsafe { (self.functions.get_timestamp)(&raw mut ns) }).done().map(|()| ns)
    }

    /// From now on these two are asked for buffers, and given them.
    pub(crate) fn register_callbacks(&self, requested: Requested, completed: Completed) -> Result<(), Status> {
        // SAFETY: both functions live as long as the process.
        Status(unsafe { (self.functions.register_callbacks)(requested, completed) }).done()
    }

    pub(crate) fn enable(&self, kind: Kind) -> Result<(), Status> {
        // SAFETY: a number.
        self.in_use().map_or_else(|| Status(unsafe { (self.functions.enable)(kind as u32) }).done(), |it| it.enable(kind, None))
    }

    pub(crate) fn disable(&self, kind: Kind) -> Result<(), Status> {
        // SAFETY: a number.
        self.in_use().map_or_else(|| Status(unsafe { (self.functions.disable)(kind as u32) }).done(), |it| it.disable(kind))
    }

    /// Whether single calls can be chosen to be recorded, instead of all.
    pub(crate) fn can_choose_calls(&self) -> bool {
        self.functions.enable_runtime_api.is_some() && self.functions.enable_driver_api.is_some()
    }

    /// Records a call, or does so no more.
    pub(crate) fn choose_call(&self, domain: Domain, cbid: u32, is_on: bool) -> Result<(), Status> {
        let choose = match domain {
            Domain::Driver => self.functions.enable_driver_api,
            Domain::Runtime => self.functions.enable_runtime_api,
        };
        // SAFETY: numbers.
        choose.map_or(Ok(()), |choose| Status(unsafe { choose(cbid, is_on.into()) }).done())
    }

    /// Calls are to say which thread they are of by the system's number, where the library knows others.
    pub(crate) fn number_threads_as_the_system_does(&self) -> Result<(), Status> {
        const SYSTEM: c_int = 1;
        if let Some(second) = self.in_use() {
            return second.number_threads_as_the_system_does();
        }
        // SAFETY: a number.
        self.functions.set_thread_id_type.map_or(Ok(()), |set| Status(unsafe { set(SYSTEM) }).done())
    }

    /// Has buffers returned whose records are complete. Never by force: that can corrupt the heap of the process.
    pub(crate) fn flush(&self) -> Result<(), Status> {
        // SAFETY: a number.
        Status(unsafe { (self.functions.flush_all)(0) }).done()
    }

    /// Records that were dropped since this was last asked.
    pub(crate) fn dropped_records(&self) -> u64 {
        let mut dropped = 0;
        let status = match self.in_use() {
            Some(second) => second.dropped_records(&mut dropped),
            // SAFETY: without a context the whole process is meant, and the word is ours.
            None => unsafe { (self.functions.dropped_records)(ptr::null_mut(), 0, &raw mut dropped) },
        };
        if status == 0 { dropped as u64 } else { 0 }
    }

    /// Where in `buffer` the record behind `previous` begins; none behind the last.
    ///
    /// # Errors
    /// A record that the library cannot make sense of, or says is elsewhere than in the buffer.
    pub(crate) fn next_record(&self, buffer: &[u8], previous: Option<usize>) -> Result<Option<usize>, Status> {
        const UNKNOWN: Status = Status(999);
        let base = buffer.as_ptr();
        let mut record = previous.map_or(ptr::null(), |at| base.wrapping_add(at));
        // SAFETY: the buffer is one that CUPTI filled and gave back, and the record lies in it or is null.
        let status = unsafe {
            match self.in_use() {
                Some(second) => second.next_record(buffer, &mut record),
                None => (self.functions.next_record)(base, buffer.len(), &raw mut record),
            }
        };
        match Status(status) {
            Status::MAX_LIMIT_REACHED => Ok(None),
            Status::SUCCESS => {
                let at = (record as usize).wrapping_sub(base as usize);
                let is_behind = previous.is_none_or(|previous| at > previous);
                if at < buffer.len() && is_behind { Ok(Some(at)) } else { Err(UNKNOWN) }
            }
            status => Err(status),
        }
    }

    pub(crate) fn push_external(&self, kind: c_int, id: u64) {
        if let Some(second) = self.in_use() {
            return second.push_external(kind, id);
        }
        // SAFETY: numbers. What it returns changes nothing for the caller, who is in the middle of the program's call.
        unsafe { (self.functions.push_external)(kind, id) };
    }

    pub(crate) fn pop_external(&self, kind: c_int) {
        if let Some(second) = self.in_use() {
            return second.pop_external(kind);
        }
        let mut last = 0;
        // SAFETY: see `version`.
        unsafe { (self.functions.pop_external)(kind, &raw mut last) };
    }

    /// What the call with this number is called.
    pub(crate) fn callback_name(&self, domain: Domain, cbid: u32) -> Option<String> {
        let mut name = ptr::null();
        // SAFETY: the library puts the address of a text of its own there, which ends in a zero byte.
        let status = unsafe { (self.functions.callback_name)(domain as c_int, cbid, &raw mut name) };
        // SAFETY: see above.
        if status == 0 { unsafe { text(name) } } else { None }
    }

    /// `told` is told of calls that are chosen.
    ///
    /// # Errors
    /// Most often that there is somebody else.
    pub(crate) fn subscribe(&self, told: Told) -> Result<Subscription, Status> {
        let mut subscriber = ptr::null_mut();
        // SAFETY: the function lives as long as the process, and nothing is passed on to it.
        let status = unsafe { (self.functions.subscribe)(&raw mut subscriber, told, ptr::null_mut()) };
        Status(status).done().map(|()| Subscription(subscriber as usize))
    }

    /// Who is subscribed already, as versions from 13 on can tell: to whom would be the second they name the first.
    pub(crate) fn holder(&self, told: Told) -> Option<String> {
        match second::subscribe(self.subscribe_v2?, told, false) {
            // Whoever it was has left in between.
            Ok((subscriber, _)) => {
                self.unsubscribe(Subscription(subscriber as usize));
                None
            }
            Err(not_taken) => not_taken.holder,
        }
    }

    /// Subscribes through the second version, whose functions are called from now on. Who was there before.
    ///
    /// # Errors
    /// None where the library does not have it; else why it does not take us.
    pub(crate) fn subscribe_beside_others(
        &self,
        told: Told,
        has_options: bool,
    ) -> Result<(Subscription, Option<String>), Option<NotTaken>> {
        let second = self.second.as_ref().ok_or(None)?;
        let subscribed = second.subscribe(told, has_options);
        subscribed.map(|(subscriber, first)| (Subscription(subscriber as usize), first)).map_err(Some)
    }

    /// Whether a subscriber beside others can take single calls out of those of a kind.
    pub(crate) fn can_leave_calls_out(&self) -> bool {
        self.second.as_ref().is_some_and(Second::can_leave_calls_out)
    }

    /// What `work` makes of the library while we are subscribed through the second version, and nothing is recorded.
    ///
    /// # Errors
    /// As [`Self::subscribe_beside_others`].
    pub(crate) fn while_subscribed<R>(&self, told: Told, work: impl FnOnce() -> R) -> Result<R, Option<NotTaken>> {
        // Nothing is asked for.
        let (subscription, _) = self.subscribe_beside_others(told, false)?;
        let made = work();
        self.unsubscribe(subscription);
        Ok(made)
    }

    /// The second version, while we are subscribed through it.
    pub(crate) fn in_use(&self) -> Option<InUse<'_>> {
        self.second.as_ref()?.in_use()
    }

    /// Where the fields of records lie that it hands over, if it has the second version.
    pub(crate) fn layouts(&self) -> Option<&Layouts> {
        self.second.as_ref().map(|second| &second.layouts)
    }

    pub(crate) fn unsubscribe(&self, subscription: Subscription) {
        if let Some(second) = &self.second {
            second.leave(subscription.0 as Subscriber);
        }
        // SAFETY: a handle that the library gave out; whoever has it gives it back once.
        unsafe { (self.functions.unsubscribe)(subscription.0 as Subscriber) };
    }

    /// Tells of a call, or does so no more.
    pub(crate) fn tell_of(&self, subscription: Subscription, domain: Domain, cbid: u32, is_on: bool) -> Result<(), Status> {
        let subscriber = subscription.0 as Subscriber;
        // SAFETY: a handle that the library gave out, and numbers.
        Status(unsafe { (self.functions.enable_callback)(is_on.into(), subscriber, domain as c_int, cbid) }).done()
    }
}

/// The handle of who is subscribed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subscription(usize);
