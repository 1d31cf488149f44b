//! What one process records: its ring, communicators and handles, and what a callback does with them.
//!
//! Everything is made by the first init and stays until the process ends. After that no callback allocates, takes a lock, or returns an
//! error; what makes no sense is counted and ignored. NCCL goes on with the events of a communicator whose init failed, and then its
//! context is null: those are counted, too.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rankscope_record::ticks;

use crate::chain::{self, Chain};
use crate::comms::{Comm, Comms};
use crate::event::{KERNEL_CH_STOP, Sort, Start, What};
use crate::handles::Handles;
use crate::keeper::Keeper;
use crate::mask::{self, Mask, Situation};
use crate::place::Place;
use crate::record::{Phase, Record};
use crate::ring::Ring;
use crate::{forks, library::Library, wall};

/// What the plugin of this process has.
pub(crate) struct Process {
    id: u32,
    mask: Mask,
    ring: Ring,
    comms: Comms,
    handles: Handles,
    keeper: Option<Keeper>,
    chain: Option<Chain>,
    counts: Counts,
}

/// Calls that made no sense, by why.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// A handle that is not open: stopped before, of a lost event, or of another process.
    pub(crate) stale: AtomicU64,
    /// A context that is null, ended, or of another process.
    pub(crate) no_comm: AtomicU64,
    /// Communicators beyond those that are kept.
    pub(crate) comms_full: AtomicU64,
}

static PROCESS: OnceLock<Option<Process>> = OnceLock::new();
/// Nothing is recorded any more: something panicked, or this is the child of a fork.
static IS_OFF: AtomicBool = AtomicBool::new(false);

/// Records nothing from now on.
pub(crate) fn turn_off() {
    IS_OFF.store(true, Ordering::Relaxed);
}

/// Whether that was said.
pub(crate) fn is_off() -> bool {
    IS_OFF.load(Ordering::Relaxed)
}

/// The process, if it records.
#[inline]
pub(crate) fn get() -> Option<&'static Process> {
    if is_off() { None } else { PROCESS.get()?.as_ref() }
}

/// A communicator begins, told through that version of the interface. Its context, which is never null, and the mask of events that
/// are wanted.
/// `chained` begins it for another plugin as well, and returns what that wants.
pub(crate) fn begin(
    comm: &Comm,
    interface: u8,
    library: impl FnOnce() -> Library,
    chained: impl FnOnce(&Chain, u16) -> i32,
) -> (u64, i32) {
    const NO_CONTEXT: u64 = u64::MAX;
    if is_off() {
        return (NO_CONTEXT, 0);
    }
    let process = PROCESS.get_or_init(|| Process::start(comm, interface, &library()));
    let Some(process) = process else { return (NO_CONTEXT, 0) };
    match process.comms.open(comm) {
        Some(slot) => {
            let also = process.chain.as_ref().map_or(0, |chain| chained(chain, slot));
            (process.context(slot), process.mask.also(also))
        }
        None => {
            process.counts.comms_full.fetch_add(1, Ordering::Relaxed);
            (NO_CONTEXT, process.mask.also(0))
        }
    }
}

impl Process {
    fn start(comm: &Comm, interface: u8, library: &Library) -> Option<Self> {
        let id = std::process::id();
        let place = Place::from_environment(comm);
        let chosen = std::env::var(mask::VARIABLE).ok();
        let situation = Situation { interface, library, is_recording: place.raw.is_some() };
        let mask = mask::decide(situation, chosen.as_deref()).unwrap_or_else(|word| {
            crate::say(&format!("{}: \"{word}\" is no event; recording the usual ones", mask::VARIABLE));
            mask::decide(situation, None).unwrap_or(0)
        });
        let about = [id.into(), place.rank.into(), ticks(), wall::now_ns().cast_unsigned()];
        let ring = match Ring::new(Some(&place.ring(id)), about) {
            Ok(ring) => ring,
            Err(error) => {
                crate::say(&format!("collectives are not recorded: {error}"));
                return None;
            }
        };
        forks::prepare();
        let comms = Comms::new(ring.comms());
        let keeper = place.raw.is_some().then(|| Keeper::new(place, interface, library.clone(), mask));
        let mask = Mask::new(mask);
        let chain = chain(interface);
        Some(Self { id, mask, ring, comms, handles: Handles::new(id), keeper, chain, counts: Counts::default() })
    }

    /// The ring.
    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The communicators.
    pub(crate) fn comms(&self) -> &Comms {
        &self.comms
    }

    /// Calls that made no sense.
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What writes recordings, if any are wanted.
    pub(crate) fn keeper(&self) -> Option<&Keeper> {
        self.keeper.as_ref()
    }

    /// The other plugin, if there is one.
    #[inline]
    pub(crate) fn chain(&self) -> Option<&Chain> {
        self.chain.as_ref()
    }

    /// The handles.
    pub(crate) fn handles(&self) -> &Handles {
        &self.handles
    }

    fn context(&self, slot: u16) -> u64 {
        u64::from(self.id) << 32 | (u64::from(slot) + 1)
    }

    /// The slot of a context of this process that has not ended.
    #[inline]
    pub(crate) fn comm(&self, context: u64) -> Option<u16> {
        let slot = if context >> 32 == u64::from(self.id) { (context as u32).checked_sub(1) } else { None };
        slot.and_then(|slot| u16::try_from(slot).ok()).filter(|slot| self.comms.is_open(*slot))
    }

    /// Something starts, of that context: its handle, which is zero where it is not recorded.
    #[inline]
    pub(crate) fn start_event(&self, context: u64, start: &Start) -> u64 {
        let tick = ticks();
        let Some(comm) = self.comm(context) else {
            self.counts.no_comm.fetch_add(1, Ordering::Relaxed);
            return 0;
        };
        let (handle, number) = self.handles.open(comm, start.sort);
        if !start.sort.is_kept() {
            return handle;
        }
        let parent = self.handles.number(start.parent);
        let record = Record {
            tick,
            sort: start.sort,
            phase: Phase::Start,
            comm,
            function: 0,
            element: 0,
            channel: 0,
            handle: number,
            link: parent,
            value: 0,
        };
        if let Some(hash) = start.comm_hash {
            self.comms.learn(comm, hash, start.rank);
        }
        match start.what {
            What::Operation(ref operation) => self.operation(record, parent, operation),
            What::Call { graph_captured } => self.ring.push(Record { value: graph_captured.into(), ..record }),
            What::Channel { channel, gpu_ns } => self.ring.push(Record { channel, value: gpu_ns, ..record }),
            What::Proxy { pid, channel } => {
                // With PXN another process's proxy works for this operation, and its pointers mean nothing here.
                let link = if i64::from(pid) == i64::from(self.id) { parent } else { 0 };
                self.ring.push(Record { channel, link, ..record });
            }
            What::Nothing => self.ring.push(record),
        }
        handle
    }

    #[inline]
    fn operation(&self, record: Record, parent: u32, operation: &crate::event::Operation) {
        let is_message = record.sort == Sort::P2p;
        self.ring.push(Record {
            function: operation.function as u8,
            element: operation.element as u8,
            channel: operation.channels,
            link: if is_message { operation.peer.cast_unsigned() } else { operation.sequence as u32 },
            value: operation.count,
            ..record
        });
        let more = Record {
            phase: Phase::More,
            function: operation.algorithm as u8,
            element: operation.protocol as u8,
            channel: operation.warps,
            link: parent,
            value: u64::from(operation.peer.cast_unsigned()),
            ..record
        };
        self.ring.push(more);
        if operation.user_tag != 0 {
            self.ring.push(Record { phase: Phase::Tag, value: operation.user_tag, ..more });
        }
    }

    /// An event stops.
    #[inline]
    pub(crate) fn stop_event(&self, handle: u64) {
        let tick = ticks();
        match self.handles.close(handle) {
            Some(opened) => {
                if opened.sort.is_kept() {
                    self.ring.push(of_opened(opened, tick, Phase::Stop, 0));
                }
                if let Some(chain) = &self.chain {
                    chain.stop_event(opened.number);
                }
            }
            None => {
                self.counts.stale.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// An event has come to a state; `gpu_ns` is the GPU's clock where the state has it.
    #[inline]
    pub(crate) fn record_state(&self, handle: u64, state: i32, gpu_ns: Option<u64>, chained: impl FnOnce(&Chain, u32)) {
        let tick = ticks();
        let Some(opened) = self.handles.look_up(handle) else {
            self.counts.stale.fetch_add(1, Ordering::Relaxed);
            return;
        };
        if let Some(chain) = &self.chain {
            chained(chain, opened.number);
        }
        if let Some(gpu_ns) = gpu_ns.filter(|_| state == KERNEL_CH_STOP && opened.sort == Sort::KernelCh) {
            self.ring.push(of_opened(opened, tick, Phase::GpuStop, gpu_ns));
        }
    }

    /// A communicator ends.
    pub(crate) fn end(&self, context: u64) {
        let tick = ticks();
        let Some(comm) = self.comm(context) else {
            self.counts.no_comm.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let nobody = crate::handles::Opened { number: 0, comm, sort: Sort::Group };
        self.ring.push(of_opened(nobody, tick, Phase::Finalize, 0));
        // The keeper looks up who it was before the slot can be another's.
        if let Some(keeper) = &self.keeper {
            keeper.catch_up();
        }
        if let Some(chain) = &self.chain {
            chain.end(comm);
        }
        self.comms.close(comm);
    }
}

/// The plugin that the environment names, beside this one.
fn chain(interface: u8) -> Option<Chain> {
    let name = std::env::var(chain::VARIABLE).ok().filter(|name| !name.is_empty())?;
    let opened = if interface < 5 {
        Err(format!("{}: {name} is not called, because this NCCL speaks version {interface} of the interface", chain::VARIABLE))
    } else {
        Chain::open(&name)
    };
    opened.map_err(|why| crate::say(&why)).ok()
}

fn of_opened(opened: crate::handles::Opened, tick: u64, phase: Phase, value: u64) -> Record {
    let crate::handles::Opened { number, comm, sort } = opened;
    Record { tick, sort, phase, comm, function: 0, element: 0, channel: 0, handle: number, link: 0, value }
}
