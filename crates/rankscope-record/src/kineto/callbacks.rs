//! Callbacks at the begin and end of ops (recorder specification, section 2.2): global or of one thread, sampled, by scope.
//!
//! Only a [`super::RecordFunction`] calls them; the macros are the quick road and call nobody. A callback that itself runs ops is
//! not called for those. Who saw a begin sees its end, even if it was removed in between.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::Input;
use crate::scope::Scope;

/// What a callback is told about an op.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its scope.
    pub scope: Scope,
    /// What autograd numbers it with; −1 for none.
    pub sequence_nr: i64,
    /// The thread of its forward op; zero for none.
    pub forward_thread_id: u64,
    /// What a mobile runtime resolves later; −1 for none.
    pub debug_handle: i64,
    /// A number no other op has; zero unless the callback asked for ids.
    pub handle: u64,
    /// Its inputs, at the begin; empty unless the callback asked for them.
    pub inputs: &'a [Input<'a>],
    /// Its outputs, at the end; empty unless the callback asked for them.
    pub outputs: &'a [Input<'a>],
}

/// What a callback keeps from an op's begin to its end.
pub type Kept = Option<Box<dyn Any>>;
type Start = dyn Fn(&OpView<'_>) -> Kept + Send + Sync;
type End = dyn Fn(&OpView<'_>, Kept) + Send + Sync;

/// A callback, and for what it is called.
pub struct RecordFunctionCallback {
    start: Box<Start>,
    end: Box<End>,
    /// Of 2⁶⁴; none for always.
    threshold: Option<u64>,
    random: AtomicU64,
    scopes: Scopes,
    needs_inputs: bool,
    needs_outputs: bool,
    needs_ids: bool,
}

/// A set of scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scopes(u16);

impl Scopes {
    /// Every scope.
    pub const ALL: Self = Self(u16::MAX);

    /// The scopes of a list; an empty list is every scope, as torch has it.
    pub fn of(scopes: &[Scope]) -> Self {
        if scopes.is_empty() { Self::ALL } else { Self(scopes.iter().fold(0, |set, scope| set | 1 << *scope as u16)) }
    }

    /// Whether `scope` is in the set.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & 1 << scope as u16 != 0
    }
}

impl RecordFunctionCallback {
    /// Called at the begin of every op of every scope.
    pub fn new(start: impl Fn(&OpView<'_>) -> Kept + Send + Sync + 'static) -> Self {
        Self {
            start: Box::new(start),
            end: Box::new(|_, _| ()),
            threshold: None,
            random: AtomicU64::new(0),
            scopes: Scopes::ALL,
            needs_inputs: false,
            needs_outputs: false,
            needs_ids: false,
        }
    }

    /// Called at its end as well, with what the begin returned.
    pub fn on_end(self, end: impl Fn(&OpView<'_>, Kept) + Send + Sync + 'static) -> Self {
        Self { end: Box::new(end), ..self }
    }

    /// Called for one op of many only, chosen by a generator of its own: the same seed chooses the same. What is no number is
    /// never.
    pub fn sampling(self, probability: f64, seed: u64) -> Self {
        // A float beyond the range becomes the nearest whole number, and what is no number becomes zero.
        let threshold = (probability < 1.0 || probability.is_nan()).then_some((probability * 2_f64.powi(64)) as u64);
        Self { threshold, random: AtomicU64::new(seed), ..self }
    }

    /// Called for ops of these scopes only.
    pub fn in_scopes(self, scopes: Scopes) -> Self {
        Self { scopes, ..self }
    }

    /// Told the inputs.
    pub fn needs_inputs(self) -> Self {
        Self { needs_inputs: true, ..self }
    }

    /// Told the outputs.
    pub fn needs_outputs(self) -> Self {
        Self { needs_outputs: true, ..self }
    }

    /// Told a number for each op.
    pub fn needs_ids(self) -> Self {
        Self { needs_ids: true, ..self }
    }

    fn is_chosen(&self) -> bool {
        self.threshold.is_none_or(|threshold| splitmix(&self.random) < threshold)
    }
}

impl fmt::Debug for RecordFunctionCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordFunctionCallback").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// The next number of a SplitMix64 generator (Steele, Lea, Flood 2014), which needs no more than an addition to be shared.
fn splitmix(state: &AtomicU64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut z = state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A registered callback, to remove or to pause it.
#[derive(Clone, Debug)]
pub struct CallbackHandle(Arc<Registered>);

#[derive(Debug)]
struct Registered {
    callback: RecordFunctionCallback,
    enabled: AtomicBool,
}

impl CallbackHandle {
    /// Removes it; whether it was still there. A thread's own callback can be removed on that thread only.
    pub fn remove(&self) -> bool {
        let same = |other: &Arc<Registered>| Arc::ptr_eq(other, &self.0);
        let mut global = GLOBAL.write().unwrap_or_else(PoisonError::into_inner);
        let found = if global.iter().any(same) {
            *global = global.iter().filter(|other| !same(other)).cloned().collect();
            true
        } else {
            OWN.with_borrow_mut(|own| own.list.extract_if(.., |other| same(other)).next().is_some())
        };
        if found {
            REGISTERED.fetch_sub(1, Ordering::Relaxed);
        }
        found
    }

    /// Calls it again, or no more, from the next op on.
    pub fn set_enabled(&self, enabled: bool) {
        self.0.enabled.store(enabled, Ordering::Relaxed);
    }
}

/// Callbacks of one thread; those left when it ends are no longer counted.
struct Own {
    list: Vec<Arc<Registered>>,
}

impl Drop for Own {
    fn drop(&mut self) {
        REGISTERED.fetch_sub(self.list.len(), Ordering::Relaxed);
    }
}

static GLOBAL: RwLock<Vec<Arc<Registered>>> = RwLock::new(Vec::new());
/// Callbacks of the process and of all its threads.
static REGISTERED: AtomicUsize = AtomicUsize::new(0);
static HANDLES: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static OWN: RefCell<Own> = const { RefCell::new(Own { list: Vec::new() }) };
    static CALLING: Cell<bool> = const { Cell::new(false) };
}

/// Calls `callback` for ops of all threads.
pub fn add_global_callback(callback: RecordFunctionCallback) -> CallbackHandle {
    let registered = Arc::new(Registered { callback, enabled: AtomicBool::new(true) });
    GLOBAL.write().unwrap_or_else(PoisonError::into_inner).push(registered.clone());
    REGISTERED.fetch_add(1, Ordering::Relaxed);
    CallbackHandle(registered)
}

/// Calls `callback` for ops of this thread.
pub fn add_thread_local_callback(callback: RecordFunctionCallback) -> CallbackHandle {
    let registered = Arc::new(Registered { callback, enabled: AtomicBool::new(true) });
    OWN.with_borrow_mut(|own| own.list.push(registered.clone()));
    REGISTERED.fetch_add(1, Ordering::Relaxed);
    CallbackHandle(registered)
}

/// Whether there may be somebody to call. One relaxed load.
#[inline(always)]
pub(super) fn any() -> bool {
    REGISTERED.load(Ordering::Relaxed) != 0
}

/// The callbacks that were called for an op that is open.
pub(super) struct Running {
    called: Vec<(Arc<Registered>, Kept)>,
    pub(super) handle: u64,
}

impl Running {
    /// Calls those that want `op`; `None` if nobody does.
    pub(super) fn start(op: &OpView<'_>) -> Option<Self> {
        let _calling = Calling::enter()?;
        let global = GLOBAL.read().unwrap_or_else(PoisonError::into_inner).clone();
        let own = OWN.try_with(|own| own.borrow().list.clone()).unwrap_or_default();
        let wants = |registered: &Arc<Registered>| {
            let callback = &registered.callback;
            registered.enabled.load(Ordering::Relaxed) && callback.scopes.contains(op.scope) && callback.is_chosen()
        };
        let wanting: Vec<_> = global.into_iter().chain(own).filter(wants).collect();
        let needs_ids = wanting.iter().any(|registered| registered.callback.needs_ids);
        let handle = if needs_ids { HANDLES.fetch_add(1, Ordering::Relaxed) } else { 0 };
        let called = wanting.into_iter().map(|registered| {
            let callback = &registered.callback;
            let kept = (callback.start)(&op.shown_to(callback, handle));
            (registered, kept)
        });
        let called: Vec<_> = called.collect();
        (!called.is_empty()).then_some(Self { called, handle })
    }

    /// Calls them again, last first.
    pub(super) fn end(self, op: &OpView<'_>) {
        let Some(_calling) = Calling::enter() else { return };
        for (registered, kept) in self.called.into_iter().rev() {
            let callback = &registered.callback;
            (callback.end)(&op.shown_to(callback, self.handle), kept);
        }
    }
}

impl OpView<'_> {
    fn shown_to(&self, callback: &RecordFunctionCallback, handle: u64) -> Self {
        Self {
            handle: if callback.needs_ids { handle } else { 0 },
            inputs: if callback.needs_inputs { self.inputs } else { &[] },
            outputs: if callback.needs_outputs { self.outputs } else { &[] },
            ..*self
        }
    }
}

/// While a callback runs on this thread, no other is called on it.
struct Calling;

impl Calling {
    fn enter() -> Option<Self> {
        (!CALLING.replace(true)).then_some(Self)
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        CALLING.set(false);
    }
}
