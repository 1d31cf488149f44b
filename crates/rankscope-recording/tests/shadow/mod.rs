//! Recordings of anything, and beside each what was recorded. Also included by the tests of what a recording is packed into.

use std::io::Cursor;

use proptest::prelude::*;
use rankscope_recording::*;

/// A recording from the bytes of a live file.
pub(crate) fn opened(file: Vec<u8>) -> Recording<LiveFile<Cursor<Vec<u8>>>> {
    Recording::open(LiveFile::open(Cursor::new(file)).unwrap()).unwrap()
}

/// An argument that owns what [`ArgView`] lends.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    I64(i64),
    U64(u64),
    F64(f64),
    Bool(bool),
    Name(u32),
    Text(String),
    Bytes(Vec<u8>),
    I64s(Vec<u8>),
    Cut(u64),
}

impl Arg {
    fn view(&self) -> ArgView<'_> {
        match self {
            Self::I64(value) => ArgView::I64(*value),
            Self::U64(value) => ArgView::U64(*value),
            Self::F64(value) => ArgView::F64(*value),
            Self::Bool(value) => ArgView::Bool(*value),
            Self::Name(value) => ArgView::Name(NameId(*value)),
            Self::Text(text) => ArgView::Text(text.into()),
            Self::Bytes(bytes) => ArgView::Bytes(bytes.into()),
            Self::I64s(bytes) => ArgView::I64s(I64s::of(bytes)),
            Self::Cut(true_len) => ArgView::Cut { true_len: *true_len },
        }
    }
}

fn arg() -> impl Strategy<Value = Arg> {
    prop_oneof![
        any::<i64>().prop_map(Arg::I64),
        (-9_i64..9).prop_map(Arg::I64),
        any::<u64>().prop_map(Arg::U64),
        (-1e300..1e300).prop_map(Arg::F64),
        any::<bool>().prop_map(Arg::Bool),
        (0_u32..9).prop_map(Arg::Name),
        "\\PC{0,20}".prop_map(Arg::Text),
        proptest::collection::vec(any::<u8>(), 0..20).prop_map(Arg::Bytes),
        proptest::collection::vec(any::<i64>(), 0..5).prop_map(|list| Arg::I64s(I64s::pack(&list))),
        (0_u64..1 << 40).prop_map(Arg::Cut),
    ]
}

/// What happens, on which stream, so many ticks after the last thing there, with which arguments.
pub(crate) type Step = (u8, u32, u64, Vec<Arg>);

pub(crate) fn steps(len: usize) -> impl Strategy<Value = Vec<Step>> {
    let ticks = prop_oneof![9 => 0_u64..2_000, 1 => 0_u64..1 << 45];
    proptest::collection::vec((0_u8..12, 0_u32..3, ticks, proptest::collection::vec(arg(), 0..3)), 0..len)
}

/// Records `steps` and, beside, what they were.
pub(crate) fn record(author: &mut LiveAuthor, steps: &[Step]) -> Vec<Vec<(Event, String)>> {
    let names: Vec<NameId> = ["matmul", "step", "queue"].iter().map(|text| author.name(text, 0, 0)).collect();
    let mut shadow = vec![Vec::new(); 3];
    let (mut ticks, mut open) = ([1_u64 << 41; 3], [const { Vec::new() }; 3]);
    for (number, (what, stream, after, args)) in steps.iter().enumerate() {
        let (at, name) = (*stream as usize, names[number % 3]);
        ticks[at] += after;
        let (stream, tick, id) = (*stream, ticks[at], number as u64);
        let (name, what) = match what {
            0..4 => {
                let number = (*what == 0).then_some(number as i64 - 5);
                let id = match number {
                    Some(number) => author.begin_numbered(stream, tick, name, number),
                    None => author.begin(stream, tick, name),
                };
                open[at].push(id);
                (name, What::Begin { id, number })
            }
            4..7 if open[at].is_empty() => continue,
            4..6 => {
                open[at].pop();
                author.end(stream, tick);
                (NameId(0), What::End { unfinished: false, above: 0 })
            }
            6 => {
                let span = number % open[at].len();
                let id = open[at].remove(span);
                author.end_of(stream, tick, id);
                (NameId(0), What::End { unfinished: false, above: (open[at].len() - span) as u32 })
            }
            7 => {
                author.instant(stream, tick, name);
                (name, What::Instant)
            }
            8 => {
                let value = if number % 2 == 0 { CounterValue::I64(-7) } else { CounterValue::F64(0.25) };
                author.counter(stream, tick, name, value);
                (name, What::Counter(value))
            }
            9 => {
                let stage = [FlowStage::Start, FlowStage::Step, FlowStage::End][number % 3];
                author.flow(stream, tick, name, id, stage);
                (name, What::Flow { id, stage })
            }
            10 if number % 2 == 0 => {
                author.async_begin(stream, tick, name, id);
                (name, What::AsyncBegin { id })
            }
            10 => {
                author.async_end(stream, tick, name, id);
                (name, What::AsyncEnd { id })
            }
            _ => {
                let device = (number as u8 % 3, number as i16 % 9 - 1);
                author.memory(stream, tick, id << 32, -512, device);
                let (device_type, device_index) = device;
                (NameId(0), What::Memory { address: id << 32, bytes: -512, device_type, device_index, out_of_memory: false })
            }
        };
        let args: Vec<(NameId, ArgView<'_>)> = args.iter().map(|arg| (names[0], arg.view())).collect();
        author.args(stream, &args);
        shadow[at].push((Event { tick, name, what }, format!("{args:?}")));
        if number % 16 == 15 && stream == 0 && open[1].is_empty() {
            author.hand_over(0, 1);
        }
    }
    shadow
}
