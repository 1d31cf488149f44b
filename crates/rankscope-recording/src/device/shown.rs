//! [`show`]: what sources handed over, joined once when a recording is opened, and told as device work.
//!
//! The result is the words of a thread that nobody recorded, [`DEVICE_STREAM`], so that whoever replays a recording needs to know
//! nothing of sources: each piece of work is an instant at its own start, in order, what encloses others before them. Memory grows with
//! what was handed over. Where nothing was, this is one look at the names.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::clock::OntoRecording;
use super::handed::{
    DEVICE_GRAPHS, DEVICE_MEMORY, DEVICE_RECORD, DEVICE_TIES, SourceId, graphs_of, memory_of, record_of, ties_of,
};
use super::join::{Activity, Dropped, Joined, Oddities, join};
use super::ledger::{MemoryEvent, MemoryOddities};
use super::record::{DeviceItem, DeviceRecord, HostOp};
use super::words::{Known, ShownChunk, Words};
use super::work::Arrow;
use crate::Category;
use crate::args::{ArgView, Args, I64s};
use crate::event::{ClockId, Event, What};
use crate::live::Chunks;
use crate::open::Recording;
use crate::session::Cut;
use crate::system::Name;
use crate::word::NameId;

/// The stream of device work. No thread that records has it, and every cut does.
pub const DEVICE_STREAM: u32 = u32::MAX - 1;

/// What became of what one source handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceTally {
    /// Records that are shown.
    pub activities: usize,
    /// Arrows from calls to their work and waits.
    pub launches: usize,
    /// Ranges of the program on streams.
    pub annotations: usize,
    /// Records that are not shown.
    pub dropped: Dropped,
    /// What is shown although it is odd.
    pub oddities: Oddities,
    /// What became of changes of memory.
    pub memory: MemoryTally,
}

/// What became of changes of memory that one source handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryTally {
    /// Those that are shown.
    pub events: usize,
    /// Those that are not, and stand in no total.
    pub dropped: Dropped,
    /// What is odd about them.
    pub oddities: MemoryOddities,
}

/// One thing that is shown.
enum Piece {
    Work(Activity, Arrow),
    Memory(MemoryEvent),
}

impl Piece {
    /// What encloses others comes before them, and changes of memory behind what begins with them.
    fn place(&self) -> impl Ord + use<> {
        match self {
            Self::Work(activity, _) => (activity.record.start_ns, Reverse(activity.record.end_ns), false),
            Self::Memory(event) => (event.at_ns, Reverse(event.at_ns), true),
        }
    }
}

/// Device work of a recording, ready to be replayed.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// Names that the recording does not have, behind its own.
    pub(crate) names: Vec<Name>,
    pub(crate) chunks: Vec<ShownChunk>,
    pub(crate) tallies: BTreeMap<SourceId, DeviceTally>,
    /// Lists that are none.
    pub(crate) unreadable: u64,
    /// What instants are called that are not told any more.
    pub(crate) hidden: Vec<NameId>,
}

/// Joins what was handed over in `recording`; none where nothing was.
pub(crate) fn show<C: Chunks>(recording: &Recording<C>) -> Option<Shown> {
    let keys = Keys::find(recording.names())?;
    let mut gathered = Gathered::default();
    for thread in recording.threads() {
        let mut events = recording.replay(thread, &Cut::everything());
        while let Some((event, args)) = events.next() {
            gathered.take(&event, args, &keys, recording.names());
        }
    }
    gathered.onto_recording(recording);
    let ops = ops(recording, &gathered.wanted());
    let window = gathered.window(recording);
    let mut words = Words::new(recording, gathered.last_tick, gathered.known(recording.names()));
    let mut shown = Shown { unreadable: gathered.unreadable, hidden: keys.hidden(), ..Shown::default() };
    let mut all = Vec::new();
    for (source, items) in gathered.items {
        let joined = join(vec![items], &ops, &window);
        shown.tallies.insert(source, tally(&joined));
        all.append(&mut pieces(joined));
    }
    // Changes of memory of one instant stay as the ledger has them.
    all.sort_by_key(Piece::place);
    for piece in &all {
        match piece {
            Piece::Work(activity, arrow) => words.put(activity, *arrow),
            Piece::Memory(event) => words.put_memory(event),
        }
    }
    (shown.names, shown.chunks) = words.finish();
    Some(shown)
}

/// What instants of sources are called.
struct Keys {
    records: Option<NameId>,
    ties: Option<NameId>,
    memory: Option<NameId>,
    graphs: Option<NameId>,
}

impl Keys {
    fn find(names: &[Name]) -> Option<Self> {
        let find = |text: &str| names.iter().position(|name| *name.text == *text).map(|at| NameId(at as u32));
        let keys = Self {
            records: find(DEVICE_RECORD),
            ties: find(DEVICE_TIES),
            memory: find(DEVICE_MEMORY),
            graphs: find(DEVICE_GRAPHS),
        };
        (keys.records.is_some() || keys.memory.is_some()).then_some(keys)
    }

    fn hidden(&self) -> Vec<NameId> {
        [self.records, self.ties, self.memory, self.graphs].into_iter().flatten().collect()
    }
}

/// What was handed over, by source.
#[derive(Default)]
struct Gathered {
    items: BTreeMap<SourceId, Vec<DeviceItem>>,
    clocks: BTreeMap<SourceId, ClockId>,
    /// Each text once.
    texts: FxHashMap<NameId, Arc<str>>,
    unreadable: u64,
    /// When the last of it was handed over.
    last_tick: u64,
}

impl Gathered {
    fn take(&mut self, event: &Event, args: Args<'_>, keys: &Keys, names: &[Name]) {
        let of = [keys.records, keys.ties, keys.memory, keys.graphs].map(|key| Some(event.name) == key);
        let [is_record, is_tie, is_memory, is_graphs] = of;
        if event.what != What::Instant || !(is_record || is_tie || is_memory || is_graphs) {
            return;
        }
        self.last_tick = self.last_tick.max(event.tick);
        let list = args.iter().next().and_then(|(key, value)| match value {
            ArgView::I64s(list) => Some((key, list)),
            _ => None,
        });
        let taken = list.and_then(|(key, list)| match () {
            () if is_record => self.record(key, list, names),
            () if is_tie => self.ties(list),
            () if is_memory => self.memory(list),
            () => self.graphs(list),
        });
        self.unreadable += u64::from(taken.is_none());
    }

    fn record(&mut self, key: NameId, list: I64s<'_>, names: &[Name]) -> Option<()> {
        let name = names.get(key.0 as usize)?;
        let kind = Category::of(name.category)?;
        let text = self.texts.entry(key).or_insert_with(|| Arc::from(&*name.text)).clone();
        let named =
            || DeviceRecord { kind, name: text, start_ns: 0, end_ns: 0, device: 0, stream: 0, correlation: 0, graph: None };
        let (source, clock, record) = record_of(list, named)?;
        self.clocks.insert(source, clock);
        self.items.entry(source).or_default().push(DeviceItem::Record(record));
        Some(())
    }

    fn ties(&mut self, list: I64s<'_>) -> Option<()> {
        let (source, ties) = ties_of(list)?;
        self.items.entry(source).or_default().extend(ties.into_iter().map(DeviceItem::Tie));
        Some(())
    }

    fn graphs(&mut self, list: I64s<'_>) -> Option<()> {
        let (source, launches) = graphs_of(list)?;
        self.items.entry(source).or_default().extend(launches.into_iter().map(DeviceItem::Graph));
        Some(())
    }

    fn memory(&mut self, list: I64s<'_>) -> Option<()> {
        let (source, clock, memory) = memory_of(list)?;
        self.clocks.insert(source, clock);
        self.items.entry(source).or_default().push(DeviceItem::Memory(memory));
        Some(())
    }

    /// Brings all times on to the recording's.
    fn onto_recording<C: Chunks>(&mut self, recording: &Recording<C>) {
        for (source, items) in &mut self.items {
            let Some(clock) = self.clocks.get(source) else { continue };
            let onto = OntoRecording::new(recording.anchors(), recording.ticks(), *clock);
            for item in items {
                let times = match item {
                    DeviceItem::Record(record) => [Some(&mut record.start_ns), Some(&mut record.end_ns)],
                    DeviceItem::Memory(memory) => [Some(&mut memory.at_ns), None],
                    DeviceItem::Tie(_) | DeviceItem::Graph(_) => continue,
                };
                // Zero is no time.
                for ns in times.into_iter().flatten().filter(|ns| **ns != 0) {
                    *ns = onto.ns(*ns);
                }
            }
        }
    }

    /// The spans that ties speak of, by their correlation ids.
    fn wanted(&self) -> HashSet<u64> {
        let ids = self.items.values().flatten().filter_map(|item| match item {
            DeviceItem::Tie(tie) => Some(tie.external_id),
            DeviceItem::Record(_) | DeviceItem::Memory(_) | DeviceItem::Graph(_) => None,
        });
        ids.filter(|id| *id != 0).collect()
    }

    /// The names of records.
    fn known(&self, names: &[Name]) -> Known {
        let category = |name: &NameId| Category::of(names.get(name.0 as usize)?.category);
        self.texts.iter().filter_map(|(name, text)| Some(((text.clone(), category(name)?), *name))).collect()
    }

    /// From the beginning of the first session to when the last of it was handed over: by then it had happened.
    fn window<C: Chunks>(&self, recording: &Recording<C>) -> RangeInclusive<i64> {
        let ticks = recording.ticks();
        let first = recording.sessions().iter().map(|session| session.start_tick).min();
        first.map_or(i64::MIN, |tick| ticks.ns(tick))..=ticks.ns(self.last_tick)
    }
}

fn ops<C: Chunks>(recording: &Recording<C>, wanted: &HashSet<u64>) -> HashMap<u64, HostOp> {
    let mut ops = HashMap::new();
    if wanted.is_empty() {
        return ops;
    }
    for thread in recording.threads() {
        let mut events = recording.replay(thread, &Cut::everything());
        while let Some((event, _)) = events.next() {
            let What::Begin { id, .. } = event.what else { continue };
            if wanted.contains(&id)
                && let Some(name) = recording.names().get(event.name.0 as usize)
            {
                let is_user_annotation = name.category == Category::USER_ANNOTATION.number();
                ops.insert(id, HostOp { name: Arc::from(&*name.text), is_user_annotation });
            }
        }
    }
    ops
}

fn tally(joined: &Joined) -> DeviceTally {
    DeviceTally {
        activities: joined.activities.len(),
        launches: joined.pairs.len(),
        annotations: joined.annotations.len(),
        dropped: joined.dropped,
        oddities: joined.oddities,
        memory: MemoryTally {
            events: joined.memory.events.len(),
            dropped: joined.memory.dropped,
            oddities: joined.memory.oddities,
        },
    }
}

/// All that is shown, work with the ends of arrows that touch it.
fn pieces(joined: Joined) -> Vec<Piece> {
    let starts: HashSet<usize> = joined.pairs.iter().map(|pair| pair.0).collect();
    let ends: HashSet<usize> = joined.pairs.iter().map(|pair| pair.1).collect();
    let arrow = |place: usize| match (starts.contains(&place), ends.contains(&place)) {
        (true, _) => Arrow::Starts,
        (_, true) => Arrow::Ends,
        _ => Arrow::None,
    };
    let annotations = joined.annotations.into_iter().map(|annotation| {
        let record = DeviceRecord {
            kind: Category::GPU_USER_ANNOTATION,
            name: annotation.name,
            start_ns: annotation.start_ns,
            end_ns: annotation.end_ns,
            device: annotation.device,
            stream: annotation.stream,
            correlation: 0,
            graph: None,
        };
        Piece::Work(Activity { record, op: Some(annotation.op), annotation: None, graph: None }, Arrow::None)
    });
    let activities = joined.activities.into_iter().enumerate().map(|(place, activity)| Piece::Work(activity, arrow(place)));
    annotations.chain(activities).chain(joined.memory.events.into_iter().map(Piece::Memory)).collect()
}
