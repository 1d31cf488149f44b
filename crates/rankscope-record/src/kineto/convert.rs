//! A recording's cut as events and their tree, in one pass over each thread (recorder specification, section 2.4).
//!
//! Events come thread by thread, each thread's in the order it began them; an event's place is its node in the tree. Spans of
//! other scopes than those asked for are left out, and what was inside them belongs to what is around them.

use std::collections::HashMap;
use std::sync::Arc;

use rankscope_recording::{ArgView, Args, Chunks, Cut, Event, Recording, Thread, What, take_out};

use super::event::{Details, EventType, Flow, KinetoEvent, Metadata};
use super::fields::{self, Wishes};
use super::keys::{self, Key};
use super::links;
use super::tree::{EventTree, NodeId, TreeBuilder};
use rankscope_recording::{Category, NameId};

/// Events and their tree.
#[derive(Debug, Default)]
pub(super) struct Converted {
    pub(super) start_ns: i64,
    pub(super) events: Vec<KinetoEvent>,
    pub(super) tree: EventTree,
}

/// An event reported with times of its own, by the thread that reported it.
#[derive(Clone, Debug)]
pub(super) struct Reported {
    pub(super) event: KinetoEvent,
}

/// Reads what `cut` holds.
pub(super) fn convert<C: Chunks>(recording: &Recording<C>, cut: &Cut, wishes: Wishes, reported: &[Reported]) -> Converted {
    let mut conversion = Conversion::new(recording, cut, wishes);
    for thread in recording.threads() {
        conversion.walk(thread);
    }
    conversion.finish(reported)
}

struct Conversion<'r, C> {
    recording: &'r Recording<C>,
    cut: &'r Cut,
    wishes: Wishes,
    names: Vec<Arc<str>>,
    keys: Vec<Option<Key>>,
    builder: TreeBuilder,
    events: Vec<KinetoEvent>,
    /// Ends of asynchronous spans, which may be read before their begins.
    async_begins: Vec<(u64, NodeId)>,
    async_ends: HashMap<u64, AsyncEnd>,
    last_ns: i64,
}

struct AsyncEnd {
    at_ns: i64,
    tid: u64,
    args: Vec<(NameId, Metadata)>,
}

impl<'r, C: Chunks> Conversion<'r, C> {
    fn new(recording: &'r Recording<C>, cut: &'r Cut, wishes: Wishes) -> Self {
        Self {
            recording,
            cut,
            wishes,
            names: recording.names().iter().map(|name| Arc::from(&*name.text)).collect(),
            keys: keys::meanings(recording.names()),
            builder: TreeBuilder::default(),
            events: Vec::new(),
            async_begins: Vec::new(),
            async_ends: HashMap::new(),
            last_ns: i64::MIN,
        }
    }

    fn walk(&mut self, thread: &Thread) {
        let recording = self.recording;
        self.builder.thread(thread.tid);
        // For every open span its event, or none where its scope is not wanted.
        let mut open: Vec<Option<NodeId>> = Vec::new();
        let mut ticks = recording.ticks().cursor();
        let mut replay = recording.replay(thread, self.cut);
        while let Some((event, args)) = replay.next() {
            let at_ns = ticks.ns(event.tick);
            self.last_ns = self.last_ns.max(at_ns);
            match event.what {
                What::Begin { id, number } => {
                    let node = self.begin(&event, thread.tid, at_ns, id, number, args);
                    open.push(node);
                }
                What::End { unfinished, above } => {
                    if let Some(node) = take_out(&mut open, above).flatten() {
                        self.builder.end_of(node, at_ns, unfinished);
                        let ended = &mut self.events[node as usize];
                        (ended.end_ns, ended.unfinished) = (at_ns, unfinished);
                        self.apply(node, args);
                        if above > 0 {
                            set_extra(self.events[node as usize].details_mut(), "misnested".into(), Metadata::Bool(true));
                        }
                    }
                }
                What::Instant => {
                    let node = self.builder.moment(at_ns);
                    self.push(&event, EventType::Kineto, thread.tid, at_ns);
                    self.apply(node, args);
                }
                What::Memory { .. } => self.memory(&event, thread.tid, at_ns, args),
                What::Flow { id, stage } => {
                    if let Some(node) = open.iter().rev().find_map(|node| *node) {
                        let flow_type = links::flow_type(self.name(event.name));
                        let starts = stage == rankscope_recording::FlowStage::Start;
                        self.events[node as usize].flow.get_or_insert(Flow { id, flow_type, starts });
                    }
                }
                What::AsyncBegin { id } => {
                    let node = self.builder.begin_async(at_ns);
                    self.push(&event, EventType::Kineto, thread.tid, at_ns);
                    let begun = &mut self.events[node as usize];
                    begun.kind = kind_of(begun.category, &begun.name);
                    self.apply(node, args);
                    self.async_begins.push((id, node));
                }
                What::AsyncEnd { id } => {
                    let args = args.iter().filter_map(|(key, value)| Some((key, self.owned(value)?))).collect();
                    self.async_ends.insert(id, AsyncEnd { at_ns, tid: thread.tid, args });
                }
                What::Counter(_) => {}
            }
        }
    }

    fn begin(&mut self, event: &Event, tid: u64, at_ns: i64, id: u64, number: Option<i64>, args: Args<'_>) -> Option<NodeId> {
        let scope = self.recording.names().get(event.name.0 as usize).map_or(0, |name| name.scope);
        if !crate::Scope::of(scope).is_none_or(|scope| self.wishes.scopes.contains(scope)) {
            return None;
        }
        let forward_tid = args.iter().find(|(key, _)| self.meaning(*key) == Some(Key::FwdThreadId));
        let forward_tid = forward_tid.and_then(|(_, value)| self.owned(value)?.as_u64()).unwrap_or(0);
        let node = self.builder.begin(at_ns, forward_tid);
        self.push(event, EventType::TorchOp, tid, at_ns);
        let begun = &mut self.events[node as usize];
        begun.kind = kind_of(begun.category, &begun.name);
        begun.correlation_id = id;
        begun.unfinished = true;
        if let Some(number) = number {
            begun.name = format!("{}#{number}", begun.name).into();
        }
        self.apply(node, args);
        Some(node)
    }

    fn memory(&mut self, event: &Event, tid: u64, at_ns: i64, args: Args<'_>) {
        let What::Memory { address, bytes, device_type, device_index, out_of_memory } = event.what else { return };
        let node = self.builder.moment(at_ns);
        let (kind, name) =
            if out_of_memory { (EventType::OutOfMemory, "[OutOfMemory]") } else { (EventType::Allocation, "[memory]") };
        self.push(event, kind, tid, at_ns);
        let pushed = &mut self.events[node as usize];
        pushed.name = name.into();
        pushed.category = Category::CPU_INSTANT_EVENT.number();
        let details = pushed.details_mut();
        (details.bytes, details.device) = (bytes, Some((device_type, device_index)));
        details.extra.push(("Addr".into(), Metadata::U64(address)));
        self.apply(node, args);
    }

    /// Appends an event of which the recording's name says what it is. Its place is the node that was just built.
    fn push(&mut self, event: &Event, kind: EventType, tid: u64, at_ns: i64) {
        let name = self.recording.names().get(event.name.0 as usize);
        self.events.push(KinetoEvent {
            name: self.name(event.name).clone(),
            kind,
            category: name.map_or(0, |name| name.category),
            scope: name.map_or(0, |name| name.scope),
            unfinished: false,
            crosses_toggle: false,
            start_ns: at_ns,
            end_ns: at_ns,
            start_tid: tid,
            end_tid: tid,
            correlation_id: 0,
            linked_correlation_id: 0,
            flow: None,
            details: None,
        });
    }

    fn name(&self, id: NameId) -> &Arc<str> {
        static NONE: std::sync::LazyLock<Arc<str>> = std::sync::LazyLock::new(|| Arc::from(""));
        self.names.get(id.0 as usize).unwrap_or(&NONE)
    }

    fn meaning(&self, key: NameId) -> Option<Key> {
        self.keys.get(key.0 as usize).copied().flatten()
    }

    fn apply(&mut self, node: NodeId, args: Args<'_>) {
        for (key, value) in args {
            if let Some(value) = self.owned(value) {
                self.apply_one(node, key, value);
            }
        }
    }

    fn apply_one(&mut self, node: NodeId, key: NameId, value: Metadata) {
        let meaning = self.meaning(key);
        let details = self.events[node as usize].details_mut();
        match meaning {
            Some(key) => fields::set(details, key, value, self.wishes),
            None => {
                let key = self.names.get(key.0 as usize).cloned().unwrap_or_else(|| Arc::from(""));
                set_extra(details, key, value);
            }
        }
    }

    /// What is lent, kept. Cuts are told by the texts themselves.
    fn owned(&self, value: ArgView<'_>) -> Option<Metadata> {
        Some(match value {
            ArgView::I64(value) => Metadata::I64(value),
            ArgView::U64(value) => Metadata::U64(value),
            ArgView::F64(value) => Metadata::F64(value),
            ArgView::Bool(value) => Metadata::Bool(value),
            ArgView::Name(name) => Metadata::Text(self.name(name).to_string()),
            ArgView::Text(text) => Metadata::Text(text.into_owned()),
            ArgView::Bytes(bytes) => Metadata::Text(String::from_utf8_lossy(&bytes).into_owned()),
            ArgView::I64s(list) => Metadata::I64s(list.collect()),
            ArgView::Json(text) => Metadata::Json(text.into_owned()),
            ArgView::Cut { .. } => return None,
        })
    }

    fn finish(mut self, reported: &[Reported]) -> Converted {
        let ticks = self.recording.ticks();
        let to_tick = self.cut.to_tick.min(self.recording.last_tick());
        let end_ns = self.last_ns.max(ticks.ns(to_tick.max(self.cut.from_tick)));
        self.settle_async(end_ns);
        self.add_reported(reported);
        let tree = self.builder.finish(end_ns);
        let first_ns = self.events.iter().map(|event| event.start_ns).min();
        let start_ns = if self.cut.from_tick == 0 { first_ns.unwrap_or(0) } else { ticks.ns(self.cut.from_tick) };
        let mut events = self.events;
        links::link(&mut events, &tree);
        links::mark_toggles(&mut events, self.cut, |tick| ticks.ns(tick));
        if self.wishes.flops {
            events.iter_mut().for_each(fields::count_flops);
        }
        Converted { start_ns, events, tree }
    }

    fn settle_async(&mut self, end_ns: i64) {
        for (id, node) in std::mem::take(&mut self.async_begins) {
            let Some(end) = self.async_ends.remove(&id) else {
                let open = &mut self.events[node as usize];
                (open.end_ns, open.unfinished) = (end_ns, true);
                continue;
            };
            self.builder.end_async(node, end.at_ns);
            let ended = &mut self.events[node as usize];
            (ended.end_ns, ended.end_tid) = (end.at_ns.max(ended.start_ns), end.tid);
            for (key, value) in end.args {
                self.apply_one(node, key, value);
            }
        }
    }

    /// Reported events lie beside the streams: each is a root, as nobody knows which span it belongs to.
    fn add_reported(&mut self, reported: &[Reported]) {
        for Reported { event } in reported {
            self.builder.thread(event.start_tid);
            self.builder.begin(event.start_ns, 0);
            self.builder.end(event.end_ns, false);
            self.events.push(event.clone());
        }
    }
}

fn set_extra(details: &mut Details, key: Arc<str>, value: Metadata) {
    match details.extra.iter_mut().find(|(known, _)| *known == key) {
        Some((_, old)) => *old = value,
        None => details.extra.push((key, value)),
    }
}

fn kind_of(category: u8, name: &str) -> EventType {
    match Category::of(category) {
        Some(Category::CPU_OP | Category::USER_ANNOTATION) => EventType::TorchOp,
        Some(Category::PYTHON_FUNCTION) if name.starts_with("<built-in") => EventType::PyCCall,
        Some(Category::PYTHON_FUNCTION) => EventType::PyCall,
        _ => EventType::Kineto,
    }
}
