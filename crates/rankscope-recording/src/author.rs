//! [`LiveAuthor`]: a live file in memory, record by record. It is for tests: no thread, no clock, and ticks are what its caller
//! says they are.

use std::collections::BTreeMap;

use super::args::{ArgView, put_bytes};
use super::chunk::{CHUNK_HEADER_WORDS, CHUNK_WORDS, ChunkHeader, ChunkKind, ChunkState, FILE_HEADER_BYTES};
use super::event::{ClockId, CounterValue, DropReason, FlowStage, Remark};
use super::live::live_head;
use super::replay::DEVICE_INDEX_BITS;
use super::word::{DELTA_BITS, Kind, NameId, Word};

/// Writes a live file.
pub struct LiveAuthor {
    chunks: Vec<Chunk>,
    streams: BTreeMap<u32, Stream>,
    system: usize,
    names: u32,
    chunk_words: usize,
    says_what_is_open: bool,
}

struct Chunk {
    header: ChunkHeader,
    words: Vec<u64>,
}

struct Stream {
    /// The chunk it writes to; none until its first event.
    chunk: Option<usize>,
    pieces: u32,
    base_tick: u64,
    last_tick: u64,
    next_id: u64,
    /// Spans that are open, the outermost first.
    open: Vec<Opened>,
    /// What a piece that starts with the last event says is open.
    open_before: Vec<u64>,
    /// The tick of the event before the last.
    tick_before: u64,
    /// The last event, which arguments may yet follow.
    record: Vec<u64>,
}

/// A span that is open, as the next piece shall say.
struct Opened {
    id: u64,
    record: Vec<u64>,
}

impl Default for LiveAuthor {
    fn default() -> Self {
        Self::new()
    }
}

impl LiveAuthor {
    /// An empty recording.
    pub fn new() -> Self {
        let mut author = Self {
            chunks: Vec::new(),
            streams: BTreeMap::new(),
            system: 0,
            names: 0,
            chunk_words: CHUNK_WORDS,
            says_what_is_open: false,
        };
        author.system = author.new_chunk(ChunkKind::System, u32::MAX, 0, 0, 0);
        author
    }

    /// Starts new chunks once they hold this many words, so that few events make many chunks.
    pub fn with_chunk_words(mut self, words: usize) -> Self {
        self.chunk_words = words.clamp(CHUNK_HEADER_WORDS + 1, CHUNK_WORDS);
        self
    }

    /// Starts every piece but a stream's first with the spans that are open there, as recorders do.
    pub fn saying_what_is_open(mut self) -> Self {
        self.says_what_is_open = true;
        self
    }

    /// Says what a thread is called.
    pub fn thread(&mut self, stream: u32, tid: u64, name: &str) {
        let mut record = Vec::new();
        put_bytes(&mut record, Word::new(Kind::Thread, 0, name.len() as u64).0, name.as_bytes());
        record.splice(1..1, [u64::from(stream), tid]);
        self.put_system(&record);
    }

    /// Enters a text into the table of names.
    pub fn name(&mut self, text: &str, category: u8, scope: u8) -> NameId {
        self.names += 1;
        let mut record = Vec::new();
        put_bytes(&mut record, Word::new(Kind::Name, self.names, text.len() as u64).0, text.as_bytes());
        record.insert(1, u64::from(category) | u64::from(scope) << 8);
        self.put_system(&record);
        NameId(self.names)
    }

    /// Says something about the recording: a key, and JSON text.
    pub fn meta(&mut self, key: &str, json: &str) {
        let key = self.name(key, 0, 0);
        let mut record = Vec::new();
        put_bytes(&mut record, Word::new(Kind::Meta, key.0, json.len() as u64).0, json.as_bytes());
        self.put_system(&record);
    }

    /// A session begins at `tick`; with the number of one that has begun, its categories change.
    pub fn session_start(&mut self, id: u64, tick: u64, categories: u32) {
        self.put_system(&[Word::new(Kind::SessionStart, 0, 0).0, id, tick, u64::from(categories)]);
    }

    /// A session ends.
    pub fn session_stop(&mut self, id: u64, tick: u64) {
        self.put_system(&[Word::new(Kind::SessionStop, 0, 0).0, id, tick]);
    }

    /// `count` events of `stream` were lost so far.
    pub fn drops(&mut self, reason: DropReason, stream: u32, count: u64) {
        self.put_system(&[Word::new(Kind::Drops, reason as u32, 0).0, u64::from(stream), count]);
    }

    /// `count` of what `remark` says happened on `stream` so far.
    pub fn remark(&mut self, remark: Remark, stream: u32, count: u64) {
        self.put_system(&[Word::new(Kind::Drops, remark as u32, 0).0, u64::from(stream), count]);
    }

    /// Ticks and a clock, read at one moment.
    pub fn anchor(&mut self, clock: ClockId, tick: u64, ns: i64, width_ticks: u64) {
        self.put_system(&[Word::new(Kind::Anchor, clock.0, 0).0, tick, ns as u64, width_ticks]);
    }

    /// A span begins. Returns its correlation id.
    pub fn begin(&mut self, stream: u32, tick: u64, name: NameId) -> u64 {
        self.put(stream, tick, Kind::Begin, name.0, &[]);
        self.take_id(stream, |id| vec![Word::new(Kind::Opened, name.0, 0).0, tick, id])
    }

    /// A span begins whose name ends in a number. Returns its correlation id.
    pub fn begin_numbered(&mut self, stream: u32, tick: u64, name: NameId, number: i64) -> u64 {
        self.put(stream, tick, Kind::BeginNumbered, name.0, &[number as u64]);
        self.take_id(stream, |id| vec![Word::new(Kind::OpenedNumbered, name.0, 0).0, tick, id, number as u64])
    }

    /// The innermost open span ends.
    pub fn end(&mut self, stream: u32, tick: u64) {
        self.put(stream, tick, Kind::End, 0, &[]);
        self.stream(stream).open.pop();
    }

    /// The span with this correlation id ends, wherever it stands among those that are open.
    pub fn end_of(&mut self, stream: u32, tick: u64, id: u64) {
        self.put(stream, tick, Kind::EndOf, 0, &[id]);
        self.stream(stream).open.retain(|open| open.id != id);
    }

    /// A moment.
    pub fn instant(&mut self, stream: u32, tick: u64, name: NameId) {
        self.put(stream, tick, Kind::Instant, name.0, &[]);
    }

    /// A value.
    pub fn counter(&mut self, stream: u32, tick: u64, name: NameId, value: CounterValue) {
        match value {
            CounterValue::I64(value) => self.put(stream, tick, Kind::CounterI64, name.0, &[value as u64]),
            CounterValue::F64(value) => self.put(stream, tick, Kind::CounterF64, name.0, &[value.to_bits()]),
        }
    }

    /// A point of an arrow.
    pub fn flow(&mut self, stream: u32, tick: u64, name: NameId, id: u64, stage: FlowStage) {
        let kind = match stage {
            FlowStage::Start => Kind::FlowStart,
            FlowStage::Step => Kind::FlowStep,
            FlowStage::End => Kind::FlowEnd,
        };
        self.put(stream, tick, kind, name.0, &[id]);
    }

    /// A span begins that may end on another thread.
    pub fn async_begin(&mut self, stream: u32, tick: u64, name: NameId, id: u64) {
        self.put(stream, tick, Kind::AsyncBegin, name.0, &[id]);
    }

    /// Such a span ends.
    pub fn async_end(&mut self, stream: u32, tick: u64, name: NameId, id: u64) {
        self.put(stream, tick, Kind::AsyncEnd, name.0, &[id]);
    }

    /// Memory on `device` (kind and index) is taken or given back.
    pub fn memory(&mut self, stream: u32, tick: u64, address: u64, bytes: i64, device: (u8, i16)) {
        self.put(stream, tick, Kind::Memory, device_field(device), &[address, bytes as u64]);
    }

    /// Memory on `device` was wanted and not there.
    pub fn out_of_memory(&mut self, stream: u32, tick: u64, bytes: i64, device: (u8, i16)) {
        self.put(stream, tick, Kind::OutOfMemory, device_field(device), &[0, bytes as u64]);
    }

    /// Gives the last event of `stream` arguments.
    pub fn args(&mut self, stream: u32, args: &[(NameId, ArgView<'_>)]) {
        let record = &mut self.stream(stream).record;
        for (key, value) in args {
            value.put(*key, record);
        }
    }

    /// Any words, as the next record of `stream`: what a later version may write.
    pub fn raw(&mut self, stream: u32, words: &[u64]) {
        self.flush(stream);
        self.stream(stream).record.extend_from_slice(words);
    }

    /// The thread of `from` ends, and that of `to` goes on in its chunk.
    pub fn hand_over(&mut self, from: u32, to: u32) {
        self.flush(from);
        let Some(chunk) = self.stream(from).chunk.take() else { return };
        self.flush(to);
        let tick = self.stream(from).last_tick;
        let stream = self.stream(to);
        stream.chunk = Some(chunk);
        stream.base_tick = tick;
        let switch = [Word::new(Kind::Switch, 0, 0).0, u64::from(to) << 32 | u64::from(stream.pieces), tick, stream.next_id];
        stream.pieces += 1;
        self.chunks[chunk].words.extend(switch);
        self.chunks[chunk].header.shared = true;
    }

    /// The file. The last chunk of every thread is open, as if the process had just been killed.
    pub fn finish(mut self) -> Vec<u8> {
        for stream in self.streams.keys().copied().collect::<Vec<_>>() {
            self.flush(stream);
        }
        let mut file = vec![0; FILE_HEADER_BYTES];
        let head = live_head(1);
        file[..head.len()].copy_from_slice(&head);
        for mut chunk in self.chunks {
            chunk.words[..CHUNK_HEADER_WORDS].copy_from_slice(&chunk.header.to_words());
            chunk.words.resize(CHUNK_WORDS, 0);
            file.extend_from_slice(bytemuck::cast_slice(&chunk.words));
        }
        file
    }

    fn put(&mut self, stream: u32, tick: u64, kind: Kind, name: u32, payload: &[u64]) {
        self.flush(stream);
        let says_what_is_open = self.says_what_is_open;
        let of = self.stream(stream);
        if says_what_is_open {
            of.open_before = of.open.iter().flat_map(|open| open.record.iter().copied()).collect();
        }
        if tick.wrapping_sub(of.base_tick) >> DELTA_BITS != 0 && of.chunk.is_some() {
            of.record.extend([Word::new(Kind::Rebase, 0, 0).0, tick]);
            of.base_tick = tick;
            self.flush(stream);
        }
        let of = self.stream(stream);
        if of.chunk.is_none() {
            of.base_tick = tick;
        }
        of.tick_before = of.last_tick;
        of.last_tick = tick;
        of.record.push(Word::new(kind, name, tick - of.base_tick).0);
        of.record.extend_from_slice(payload);
    }

    fn take_id(&mut self, stream: u32, opened: impl FnOnce(u64) -> Vec<u64>) -> u64 {
        let stream = self.stream(stream);
        let id = stream.next_id;
        stream.next_id += 1;
        stream.open.push(Opened { id, record: opened(id) });
        id
    }

    fn stream(&mut self, stream: u32) -> &mut Stream {
        self.streams.entry(stream).or_insert_with(|| Stream {
            chunk: None,
            pieces: 0,
            base_tick: 0,
            last_tick: 0,
            next_id: u64::from(stream) << 48 | 1,
            open: Vec::new(),
            open_before: Vec::new(),
            tick_before: 0,
            record: Vec::new(),
        })
    }

    /// Moves the last event of `stream` into its chunk, or into a new one where it does not fit.
    fn flush(&mut self, stream: u32) {
        let room = self.chunk_words;
        let of = self.stream(stream);
        if of.record.is_empty() {
            return;
        }
        let mut record = std::mem::take(&mut of.record);
        let (chunk, tick, pieces) = (of.chunk, of.last_tick, of.pieces);
        let (base_tick, next_id) = (of.base_tick, of.next_id);
        let fits = |chunk: &usize| self.chunks[*chunk].words.len() + record.len() <= room;
        let chunk = match chunk.filter(fits) {
            Some(chunk) => chunk,
            None => {
                if let Some(full) = chunk {
                    self.seal(full, tick);
                }
                // The begin at hand, if it is one, has taken its id already.
                let takes_id = record.first().is_some_and(|word| Word(*word).kind().is_some_and(Kind::begins_span));
                let first_id = next_id - u64::from(takes_id);
                let chunk = self.new_chunk(ChunkKind::Events, stream, pieces, base_tick, first_id);
                if self.says_what_is_open && pieces > 0 {
                    self.open_piece(chunk, stream, &mut record);
                }
                let of = self.stream(stream);
                of.pieces += 1;
                of.chunk = Some(chunk);
                chunk
            }
        };
        self.chunks[chunk].words.extend(record);
    }

    /// Starts a piece as a recorder does: ticks count from the last event before it, and what is open is said. `record` is the one
    /// that follows.
    fn open_piece(&mut self, chunk: usize, stream: u32, record: &mut [u64]) {
        let of = self.stream(stream);
        let (old, new) = (of.base_tick, of.tick_before);
        let open = of.open_before.clone();
        if let Some(head) = record.first_mut()
            && let Some(kind) = Word(*head).kind().filter(|kind| kind.has_ticks())
        {
            *head = Word::new(kind, Word(*head).name().0, Word(*head).value() + old - new).0;
            of.base_tick = new;
        }
        self.chunks[chunk].header.base_tick = new;
        self.chunks[chunk].words.extend(open);
    }

    fn put_system(&mut self, record: &[u64]) {
        if self.chunks[self.system].words.len() + record.len() > CHUNK_WORDS {
            let sequence = self.chunks[self.system].header.sequence + 1;
            self.seal(self.system, 0);
            self.system = self.new_chunk(ChunkKind::System, u32::MAX, sequence, 0, 0);
        }
        self.chunks[self.system].words.extend_from_slice(record);
    }

    fn new_chunk(&mut self, kind: ChunkKind, stream: u32, sequence: u32, base_tick: u64, first_id: u64) -> usize {
        let header = ChunkHeader {
            kind,
            state: ChunkState::Open,
            shared: false,
            generation: 1,
            stream,
            sequence,
            base_tick,
            first_id,
            used_words: 0,
            crc: 0,
            last_tick: 0,
        };
        self.chunks.push(Chunk { header, words: vec![0; CHUNK_HEADER_WORDS] });
        self.chunks.len() - 1
    }

    fn seal(&mut self, chunk: usize, last_tick: u64) {
        let Chunk { header, words } = &mut self.chunks[chunk];
        header.state = ChunkState::Checked;
        header.used_words = words.len() as u32;
        header.crc = crc32c::crc32c(bytemuck::cast_slice(&words[CHUNK_HEADER_WORDS..]));
        header.last_tick = last_tick;
    }
}

/// A device as the name field of words of memory has it.
pub(crate) fn device_field((kind, index): (u8, i16)) -> u32 {
    u32::from(kind) << DEVICE_INDEX_BITS | ((index + 1) as u32 & ((1 << DEVICE_INDEX_BITS) - 1))
}
