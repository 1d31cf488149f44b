//! What was recorded comes out: same events, same arguments, same order, however the chunks fell (test 11).

use proptest::prelude::*;

use super::*;

/// An argument that owns what [`ArgView`] lends.
#[derive(Clone, Debug)]
pub(in crate::recording) enum Arg {
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
pub(in crate::recording) type Step = (u8, u32, u64, Vec<Arg>);

pub(in crate::recording) fn steps(len: usize) -> impl Strategy<Value = Vec<Step>> {
    let ticks = prop_oneof![9 => 0_u64..2_000, 1 => 0_u64..1 << 45];
    proptest::collection::vec((0_u8..12, 0_u32..3, ticks, proptest::collection::vec(arg(), 0..3)), 0..len)
}

/// Records `steps` and, beside, what they were.
pub(in crate::recording) fn record(author: &mut LiveAuthor, steps: &[Step]) -> Vec<Vec<(Event, String)>> {
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

proptest! {
    #[test]
    fn what_was_recorded_comes_out(steps in steps(200), chunk_words in 64_usize..200) {
        let mut author = LiveAuthor::new().with_chunk_words(chunk_words);
        let shadow = record(&mut author, &steps);
        let recording = opened(author.finish());
        for thread in recording.threads() {
            let mut replay = recording.replay(thread, &Cut::everything());
            let expected = &shadow[thread.stream as usize];
            for (event, args) in expected {
                let (found, found_args) = replay.next().unwrap();
                prop_assert_eq!(found, *event);
                prop_assert_eq!(&format!("{:?}", found_args.iter().collect::<Vec<_>>()), args);
            }
            let open = expected.iter().map(|(event, _)| match event.what {
                What::Begin { .. } => 1,
                What::End { .. } => -1,
                _ => 0,
            });
            let open: i32 = open.sum();
            for _ in 0..open {
                prop_assert_eq!(replay.next().unwrap().0.what, What::End { unfinished: true, above: 0 });
            }
            prop_assert!(replay.next().is_none());
        }
        prop_assert_eq!((recording.lost_chunks(), recording.cut_chunks()), (0, 0));
    }

    #[test]
    fn a_longer_file_only_adds_events(steps in steps(120), cut in 0_usize..120) {
        let log = |steps: &[Step]| {
            let mut author = LiveAuthor::new().with_chunk_words(96);
            record(&mut author, steps);
            let recording = opened(author.finish());
            let streams: Vec<Vec<Event>> = recording.threads().iter().map(|thread| {
                let mut replay = recording.replay(thread, &Cut::everything());
                std::iter::from_fn(|| replay.next().map(|(event, _)| event))
                    .filter(|event| event.what != What::End { unfinished: true, above: 0 })
                    .collect()
            }).collect();
            let known: Vec<u32> = recording.threads().iter().map(|thread| thread.stream).collect();
            known.into_iter().zip(streams).collect::<std::collections::BTreeMap<_, _>>()
        };
        let (part, whole) = (log(&steps[..cut.min(steps.len())]), log(&steps));
        for (stream, events) in part {
            prop_assert_eq!(&whole[&stream][..events.len()], &events[..]);
        }
    }
}

#[test]
fn the_system_says_who_and_what() {
    let mut author = LiveAuthor::new();
    author.thread(7, 4242, "loader");
    author.thread(7, 4242, "loader (renamed)");
    author.meta("rank", "3");
    author.drops(DropReason::Full, 7, 10);
    author.drops(DropReason::Full, 7, 12);
    author.session_start(1, 100, 0b11);
    author.session_start(1, 150, 0b01);
    author.session_stop(1, 200);
    author.session_start(2, 180, u32::MAX);
    let name = author.name("forward", 1, 7);
    author.begin(9, 300, name);
    let recording = opened(author.finish());
    let threads: Vec<_> = recording.threads().iter().map(|thread| (thread.stream, thread.tid, &thread.name[..])).collect();
    assert_eq!(threads, [(7, 4242, "loader (renamed)"), (9, 0, "")]);
    assert_eq!(recording.meta(), [("rank".to_owned(), "3".to_owned())]);
    assert_eq!(recording.drops(), [(DropReason::Full, 7, 12)]);
    assert_eq!(recording.names()[name.0 as usize], Name { text: "forward".into(), category: 1, scope: 7 });
    assert_eq!(recording.sessions()[0].changes, [(100, 0b11), (150, 0b01)]);
    assert_eq!(recording.sessions()[0].stop_tick, Some(200));
    assert_eq!(recording.sessions()[1].stop_tick, None);
}
