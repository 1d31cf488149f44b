//! [`Writer`]: operations into the recording, under the names by which readers of profiles know collectives.
//!
//! An operation whose end is known is a collective from the rank's arrival to that end. One whose end nobody told is a call from its
//! arrival until it was enqueued, and no collective: taken for one, its end would say something about clocks and transfers that is
//! not so.

use std::cell::RefCell;
use std::collections::HashMap;

use rankscope_record::recording::{GPU_TIMES, GpuTimes};
use rankscope_record::{Category, Scope, Site, Value, intern, intern_key, noted, set_metadata, set_rank};

use crate::comms::{Comm, Comms};
use crate::compose::{self, Done};
use crate::event::Sort;
use crate::library::Library;
use crate::place::Place;
use crate::process::Counts;
use crate::words::{Algorithm, Element, Function, Protocol};

macro_rules! keys {
    ($($key:ident = $text:expr;)*) => {
        $(static $key: Site = Site::key($text);)*
    };
}

keys! {
    NAME = "Collective name";
    ELEMENT = "dtype";
    PUT_IN = "In msg nelems";
    GOT_OUT = "Out msg nelems";
    SIZE = "Group size";
    GROUP = "Process Group Name";
    DESCRIPTION = "Process Group Description";
    RANKS = "Process Group Ranks";
    SEQUENCE = "Seq";
    OWN_SEQUENCE = "NCCL sequence";
    SOURCE = "Src Rank";
    DESTINATION = "Dst Rank";
    PEER = "peer in group";
    ALGORITHM = "algorithm";
    PROTOCOL = "protocol";
    CHANNELS = "channels";
    WARPS = "warps";
    GPU_START = "GPU start ns";
    GPU_STOP = "GPU stop ns";
    GPU_CLOCKS = GPU_TIMES;
    CAPTURED = "graph captured";
    TAG = "user tag";
}

/// Functions that may have sequence numbers of their own within a communicator.
const FUNCTIONS: u64 = 16;

/// Writes into the recording that runs.
pub(crate) struct Writer<'a> {
    place: &'a Place,
    /// Which rank of each communicator this recording is of: a process may have several.
    own: RefCell<HashMap<u64, u32>>,
}

impl<'a> Writer<'a> {
    /// Begins with what is known of the process.
    pub(crate) fn new(place: &'a Place, interface: u8, library: &Library, mask: i32) -> Self {
        if !place.is_launched {
            set_rank(place.rank, place.world_size);
        }
        set_metadata("nccl.interface", &interface.to_string());
        set_metadata("nccl.library", &library.path);
        set_metadata("nccl.vendor", if library.is_rccl() { "AMD" } else { "NVIDIA" });
        set_metadata("nccl.version", &library.version.to_string());
        set_metadata("nccl.mask", &mask.to_string());
        Self { place, own: RefCell::default() }
    }

    /// Writes one operation.
    pub(crate) fn write(&self, comms: &Comms, done: &Done) {
        let Some(comm) = comms.get(done.comm) else { return };
        match done.done_tick.filter(|_| self.is_own(&comm)) {
            Some(done_tick) => self.collective(&comm, done, done_tick),
            None => self.call(&comm, done),
        }
    }

    /// Says what made no sense, and what was lost.
    pub(crate) fn write_counts(&self, counts: &Counts, lost: u64) {
        use std::sync::atomic::Ordering::Relaxed;
        let all = [
            ("nccl.stale_handles", counts.stale.load(Relaxed)),
            ("nccl.unknown_contexts", counts.no_comm.load(Relaxed)),
            ("nccl.communicators_left_out", counts.comms_full.load(Relaxed)),
            ("nccl.records_lost", lost),
        ];
        for (key, count) in all.into_iter().filter(|(_, count)| *count > 0) {
            set_metadata(key, &count.to_string());
        }
    }

    /// Whether `comm` is seen from the rank that this recording is of. Of another rank in the same process it would be a second
    /// arrival of the first.
    pub(crate) fn is_own(&self, comm: &Comm) -> bool {
        comm.hash == 0 || *self.own.borrow_mut().entry(comm.hash).or_insert(comm.rank) == comm.rank
    }

    fn collective(&self, comm: &Comm, done: &Done, done_tick: u64) {
        let operation = &done.operation;
        let function = operation.function;
        let group = group_name(comm, done.comm);
        let gpu_times = done.gpu.map(as_list);
        let (put_in, got_out) = function.elements(operation.count, comm.ranks);
        let mut args = Args::default();
        args.add(&NAME, Value::Text(function.said()));
        args.add_if(operation.element != Element::Other, &ELEMENT, Value::Text(operation.element.said()));
        args.add(&PUT_IN, put_in.map_or(Value::Nothing, Value::U64));
        args.add(&GOT_OUT, got_out.map_or(Value::Nothing, Value::U64));
        args.add_if(comm.ranks > 0, &SIZE, Value::U64(comm.ranks.into()));
        args.add(&GROUP, Value::Text(&group));
        args.add_if(!comm.name.is_empty(), &DESCRIPTION, Value::Text(&comm.name));
        let is_world = self.place.is_world(comm);
        args.add(&RANKS, if is_world { Value::Name(all_ranks(comm.ranks)) } else { Value::Nothing });
        if done.sort != Sort::P2p {
            // NCCL counts every function of a communicator by itself; readers want one number that is of one collective.
            args.add(&SEQUENCE, Value::U64(operation.sequence * FUNCTIONS + function as u64));
            args.add(&OWN_SEQUENCE, Value::U64(operation.sequence));
        }
        self.peer(&mut args, done, is_world);
        args.add_if(operation.algorithm != Algorithm::Other, &ALGORITHM, Value::Text(operation.algorithm.said()));
        args.add_if(operation.protocol != Protocol::Other, &PROTOCOL, Value::Text(operation.protocol.said()));
        args.add_if(operation.channels > 0, &CHANNELS, Value::U64(operation.channels.into()));
        args.add_if(operation.warps > 0, &WARPS, Value::U64(operation.warps.into()));
        if let Some(told) = done.gpu.and_then(compose::GpuTimes::in_order) {
            args.add(&GPU_START, Value::U64(*told.start()));
            args.add(&GPU_STOP, Value::U64(*told.end()));
        }
        if let Some(gpu_times) = &gpu_times {
            args.add(&GPU_CLOCKS, Value::I64s(gpu_times));
        }
        args.add_if(done.graph_captured, &CAPTURED, Value::Bool(true));
        args.add_if(operation.user_tag != 0, &TAG, Value::U64(operation.user_tag));
        let name = intern(&format!("nccl:{}", function.said()), Category::COLLECTIVE_COMM, Scope::Function);
        noted(name, done.arrived_tick, done_tick, &args.0);
    }

    /// The other end of a message, or a root: within the communicator, and of the job where these are the same.
    fn peer(&self, args: &mut Args<'_>, done: &Done, is_world: bool) {
        let Ok(peer) = u64::try_from(done.operation.peer) else { return };
        let key = match done.operation.function {
            Function::Send | Function::Reduce | Function::Gather => &DESTINATION,
            Function::Recv | Function::Broadcast | Function::Scatter => &SOURCE,
            _ => return,
        };
        args.add(&PEER, Value::U64(peer));
        args.add_if(is_world, key, Value::U64(peer));
    }

    fn call(&self, comm: &Comm, done: &Done) {
        let group = group_name(comm, done.comm);
        let mut args = Args::default();
        args.add(&GROUP, Value::Text(&group));
        args.add(&OWN_SEQUENCE, Value::U64(done.operation.sequence));
        let name = format!("{} (no end was told)", done.operation.function.said());
        noted(intern(&name, Category::CPU_OP, Scope::Function), done.arrived_tick, done.enqueued_tick, &args.0);
    }
}

fn as_list(gpu: compose::GpuTimes) -> [i64; 5] {
    let compose::GpuTimes { launched_tick, start_ns, stop_ns, seen_tick } = gpu;
    GpuTimes { launched_tick, start_ns, stop_ns, seen_tick }.to_list()
}

/// Arguments of one operation.
#[derive(Default)]
struct Args<'a>(Vec<(rankscope_record::NameId, Value<'a>)>);

impl<'a> Args<'a> {
    fn add(&mut self, key: &Site, value: Value<'a>) {
        self.0.push((key.id(), value));
    }

    fn add_if(&mut self, wanted: bool, key: &Site, value: Value<'a>) {
        if wanted {
            self.add(key, value);
        }
    }
}

/// What a communicator is called: by its hash, which all its ranks share. Versions before the fourth do not say it with a newer NCCL;
/// then it is told by its place among those of this process.
fn group_name(comm: &Comm, slot: u16) -> String {
    if comm.hash == 0 { format!("unnamed {}", u32::from(slot) + 1) } else { format!("{:016x}", comm.hash) }
}

/// The list of all ranks, as a text that is kept once.
fn all_ranks(ranks: u32) -> rankscope_record::NameId {
    let list: Vec<String> = (0..ranks).map(|rank| rank.to_string()).collect();
    intern_key(&format!("[{}]", list.join(", ")))
}
