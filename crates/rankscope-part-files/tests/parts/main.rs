//! A part that was written and read is the same part, whatever its trace was; and bytes that are none are refused by name.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod execution;
mod golden;

use std::collections::HashSet;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::{checked_part, file, part, part_of, rules, small_job, tabulated_part, traces, with_block};
use proptest::prelude::*;
use rankscope_align::validate::{Check, Device, Finding, Key, RankEvidence, Recorded, Rule, Stream};
use rankscope_align::{GpuClock, GpuClockWindow, GpuPlaced};
use rankscope_analyze::{Accounting, Class, ClassMode, Copied, Direction, HotName, Intervals, Side, StepSource, StepWindow};
use rankscope_collectives::{ExpertKernel, ExpertOp, Group, Kind, LocalCollective, Operation, Reach, Sequence, Splits, Step};
use rankscope_job::{Export, Fingerprint, OwnGpu, Part, Place, Rules, SettledTracer};
use rankscope_part_files::{
    ColumnFault, Error, Reader, SCHEMA, STRING_BYTES_MAX, StoredPart, is_part, laid_bare, read_part, write_part,
};
use rankscope_testkit::{Dialect, Need, given};
use rankscope_time::Rank;
use rankscope_trace::{ClockReading, HostClock, ProblemKind, RankSource, SourceFormat, SpanId, Trace};

fn comes_back(part: &Part, what: &str) -> StoredPart {
    let bytes = file(part);
    let read = read_part(&bytes[..]).unwrap();
    assert_eq!(read.part, *part, "{what}");
    assert_eq!((read.place, &read.rules), (Place { file: 3, member: 1 }, &rules(part)));
    assert_eq!(file(part), bytes, "{what}: the same part gives the same bytes");
    assert!(is_part(&bytes) && is_part(&bytes[..8]) && !is_part(&bytes[..7]));
    read
}

#[test]
fn a_part_of_every_dialect_comes_back() {
    for (name, dialect) in Dialect::all() {
        let part = part(1, &dialect);
        assert!(part.collectives.collectives.len() > 3, "{name}");
        let read = comes_back(&part, name).part;
        let different: HashSet<&Operation> = read.collectives.collectives.iter().map(|one| &**one.operation).collect();
        let kept: HashSet<*const Operation> =
            read.collectives.collectives.iter().map(|one| Arc::as_ptr(one.operation)).collect();
        assert_eq!(kept.len(), different.len(), "{name}: an operation is kept once");
    }
}

#[test]
fn a_checked_part_of_every_dialect_comes_back() {
    for (name, dialect) in Dialect::all() {
        let checked = checked_part(1, &dialect);
        let evidence = checked.evidence.as_ref().unwrap();
        assert_eq!(evidence.collectives.len(), checked.collectives.collectives.len(), "{name}");
        assert!(evidence.checks.iter().any(|check| check.judged > 0), "{name}");
        comes_back(&checked, name);
        let plain = file(&part(1, &dialect));
        assert!(plain.len() < file(&checked).len(), "{name}: who asks for no checks pays for none");
    }
}

#[test]
fn a_tabulated_part_of_every_dialect_comes_back() {
    for (name, dialect) in Dialect::all() {
        let part = tabulated_part(1, &dialect);
        assert!(part.tables.as_ref().is_some_and(|tables| !tables.kernels.is_empty()), "{name}");
        comes_back(&part, name);
    }
}

#[test]
fn tables_that_are_damaged_below_the_checksums_are_refused() {
    let file = file(&tabulated_part(1, &Dialect::default()));
    let changed = with_block(&file, 20, |columns| columns.strings(["{\"operators\":[{}]}"]));
    let error = read_part(Cursor::new(changed)).unwrap_err();
    assert_eq!(error.to_string(), "block 20: its tables are not what a part has");
    // A version that knows more tables writes more; what this one does not know is passed over.
    let newer = with_block(&file, 20, |columns| columns.strings(["{\"kernel_ns\":7,", "\"of_tomorrow\":[]}"]));
    assert_eq!(read_part(Cursor::new(newer)).unwrap().part.tables.unwrap().kernel_ns, 7);
}

#[test]
fn a_part_of_little_comes_back() {
    comes_back(&part_of(Trace::default()), "an empty trace");
    let host =
        br#"{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 5, "dur": 2}]}"#;
    let part = part_of(traces(host, "host.json").remove(0));
    assert_eq!(part.report.side, Side::Host);
    comes_back(&part, "a trace of the host alone");
}

#[test]
fn a_rank_whose_gpu_is_known_is_read_by_who_does_not_know_of_gpus() {
    let mut part = part(1, &Dialect::default());
    let without = file(&part);
    assert!(Reader::open(&without).unwrap().kinds().all(|kind| kind.0 != 25), "files of others are as before");
    part.about.gpu = Some(OwnGpu { uuid: "a-b".into(), ahead_of_counter_ns: -7 });
    let with = file(&part);
    let kinds: Vec<u16> = Reader::open(&with).unwrap().kinds().map(|kind| kind.0).filter(|kind| *kind != 25).collect();
    let before: Vec<u16> = Reader::open(&without).unwrap().kinds().map(|kind| kind.0).collect();
    assert_eq!(kinds, before, "it is a block that earlier versions pass over");
    let two = with_block(&with, 25, |columns| {
        columns.strings(["a", "b"]);
        columns.signed(&[1, 2]);
    });
    assert!(matches!(read_part(&two[..]).unwrap_err(), Error::Misfit { .. }));
}

#[test]
fn the_clock_of_a_gpu_is_a_block_that_earlier_versions_pass_over() {
    let mut part = part(1, &Dialect::default());
    assert!(part.about.gpu_clock.is_none() && Reader::open(&file(&part)).unwrap().kinds().all(|kind| kind.0 != 26));
    part.about.gpu_clock = Some(gpu_clock_of([9, 1, 2, 1], vec![([1, 9, 5, 70, 60, 80, -4, -9, 3], (11, 12, true))]));
    comes_back(&part, "a clock");
    let short = with_block(&file(&part), 26, |columns| columns.unsigned(&[9, 1]));
    assert!(matches!(read_part(&short[..]).unwrap_err(), Error::Column { .. } | Error::Misfit { .. }));
}

#[test]
fn checks_that_do_not_fit_the_collectives_are_not_written() {
    for change in [
        |evidence: &mut RankEvidence| evidence.collectives.truncate(1),
        |evidence: &mut RankEvidence| evidence.collectives[0].stream = 99,
        |evidence: &mut RankEvidence| evidence.streams[0].device = 99,
    ] {
        let mut part = checked_part(1, &Dialect::default());
        change(part.evidence.as_mut().unwrap());
        let (rules, mut bytes) = (rules(&part), Vec::new());
        let refused = write_part(&part, Place::default(), &rules, &mut bytes).unwrap_err();
        assert!(matches!(refused, Error::Unwritable { .. }) && bytes.is_empty(), "{refused}");
    }
}

#[test]
fn exports_that_were_joined_come_back() {
    let whole = |later_ns: i64| {
        let mut trace = traces(&small_job().rank_bytes(1, &Dialect::default()), "rank1.json").remove(0);
        trace.spans.start_ns.iter_mut().for_each(|start| *start += later_ns);
        part_of(trace)
    };
    let (mut part, later) = (whole(0), whole(3_600_000_000_000));
    part.report.join(later.report);
    part.collectives.collectives.extend(later.collectives.collectives.to_rows());
    part.exports.extend(later.exports);
    assert_eq!((part.exports.len(), part.report.recorded_ns.len()), (2, 2));
    comes_back(&part, "two exports");
}

#[test]
fn parts_of_public_traces_come_back() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let mut seen = 0;
    for path in files_below(&corpus) {
        let label = path.display().to_string();
        for trace in traces(&std::fs::read(&path).unwrap(), &label) {
            comes_back(&part_of(trace), &label);
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} traces");
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_trace = |path: &PathBuf| ["gz", "pb", "json"].iter().any(|end| path.extension().is_some_and(|own| own == *end));
    let below =
        |path: PathBuf| if path.is_dir() { files_below(&path) } else { Some(path).filter(is_trace).into_iter().collect() };
    entries.flat_map(below).collect()
}

fn stamp() -> impl Strategy<Value = i64> {
    prop_oneof![Just(i64::MIN), Just(i64::MAX), any::<i64>(), 0i64..1_000]
}

fn stamps() -> impl Strategy<Value = (i64, i64)> {
    (stamp(), stamp())
}

fn set() -> impl Strategy<Value = Intervals> {
    prop::collection::vec(stamps(), 0..6).prop_map(Intervals::union_of)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c]{0,3}", any::<String>()]
}

fn kind() -> impl Strategy<Value = Kind> {
    let expert = |(op, reach)| Kind::Expert(ExpertKernel { op, reach });
    prop_oneof![
        prop::sample::select(vec![Kind::AllReduce, Kind::Send, Kind::Unknown]),
        (prop::sample::select(ExpertOp::ALL.to_vec()), prop::sample::select(Reach::ALL.to_vec())).prop_map(expert),
    ]
}

prop_compose! {
    fn collective()(
        kind in kind(), name in text(), dtype in text(), elements in any::<(Option<u64>, Option<u64>)>(),
        stamps in stamps(), span in any::<u32>(), group in 0u32..3, sequence in any::<Option<u64>>(), peer in any::<Option<u32>>(),
        exposed in prop_oneof![Just(None), stamp().prop_map(Some)],
        splits in prop::option::of((prop::collection::vec(any::<u32>(), 0..4), prop::collection::vec(any::<u32>(), 0..4))),
    ) -> (LocalCollective, i64) {
        let mut operation = Operation::of(kind);
        (operation.name, operation.dtype, (operation.in_elements, operation.out_elements)) = (name, dtype, elements);
        operation.splits = splits.and_then(|(sent, received)| Splits::new(sent, received));
        let mut one = LocalCollective::new(SpanId(span), stamps.0, stamps.1, operation);
        (one.group, one.sequence, one.peer) = (group, Sequence::of(sequence), peer);
        (one, exposed.unwrap_or(stamps.1.wrapping_sub(stamps.0)))
    }
}

prop_compose! {
    /// Lists of any length, and any numbers.
    fn lists()(
        collectives in prop::collection::vec(collective(), 0..12),
        groups in prop::collection::vec((prop::collection::vec(any::<u32>().prop_map(Rank), 0..4), text(), text()), 3..4),
        marks in prop::collection::vec((stamp(), stamps()), 0..4),
        windows in prop::collection::vec((stamp(), stamps()), 0..4),
        recorded in prop::collection::vec(stamps(), 0..3),
        sets in (set(), set(), set(), stamps()),
        names in prop::collection::vec((text(), any::<u64>(), stamp()), 0..5),
    ) -> Part {
        let mut part = part_of(Trace::default());
        let (collectives, exposed_ns): (Vec<LocalCollective>, Vec<i64>) = collectives.into_iter().unzip();
        (part.collectives.collectives, part.report.exposed_ns) = (collectives.into(), exposed_ns.into_iter().collect());
        part.collectives.groups = groups.into_iter().map(|(ranks, name, description)| Group { ranks: ranks.into(), name, description }).collect();
        part.collectives.steps =
            marks.into_iter().map(|(number, (start_ns, end_ns))| Step { number, start_ns, end_ns }).collect();
        part.report.steps =
            windows.into_iter().map(|(number, (start_ns, end_ns))| StepWindow { number, start_ns, end_ns }).collect();
        part.report.recorded_ns = recorded;
        part.report.accounting = Accounting::of_sets(sets.0, sets.1, sets.2, sets.3);
        let class = |at: usize| [Class::Memcpy(Direction::PeerToPeer), Class::Comm, Class::Memset][at % 3];
        let names = names.into_iter().enumerate();
        part.report.names =
            names.map(|(at, (name, count, total_ns))| HotName { name, class: class(at), count, total_ns }).collect();
        part
    }
}

prop_compose! {
    fn finding()(op in text(), detail in text(), stamps in any::<(Option<i64>, Option<i64>)>(), correlation in any::<Option<u64>>()) -> Finding {
        Finding { op, at_ns: stamps.0, gap_ns: stamps.1, correlation, detail }
    }
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![any::<i64>().prop_map(Key::Number), text().prop_map(Key::Text)]
}

prop_compose! {
    /// What validation may find in a rank with so many collectives.
    fn evidence(collectives: usize)(
        checks in prop::collection::vec((any::<u64>(), any::<u64>(), prop::collection::vec(finding(), 0..4)), 0..Rule::OF_TRACE.len()),
        devices in prop::collection::vec((key(), text()), 1..3),
        streams in prop::collection::vec((any::<prop::sample::Index>(), key()), 1..4),
        recorded in prop::collection::vec((any::<prop::sample::Index>(), any::<Option<u64>>()), collectives),
    ) -> RankEvidence {
        let check = |((judged, found, findings), rule)| Check { rule, judged, found, findings };
        RankEvidence {
            checks: checks.into_iter().zip(Rule::OF_TRACE).map(check).collect(),
            collectives: recorded
                .into_iter()
                .map(|(stream, correlation)| Recorded { stream: stream.index(streams.len()) as u32, correlation })
                .collect(),
            streams: streams.into_iter().map(|(device, key)| Stream { device: device.index(devices.len()), key }).collect(),
            devices: devices.into_iter().map(|(key, name)| Device { key, name }).collect(),
        }
    }
}

fn any_part() -> impl Strategy<Value = Part> {
    (any_unchecked(), any::<bool>()).prop_flat_map(|(part, checked)| {
        let evidence =
            if checked { evidence(part.collectives.collectives.len()).prop_map(Some).boxed() } else { Just(None).boxed() };
        evidence.prop_map(move |evidence| {
            let mut part = part.clone();
            part.evidence = evidence;
            part
        })
    })
}

fn gpu_clock_of(numbers: [u64; 4], windows: Vec<([i64; 9], (u32, u32, bool))>) -> GpuClock {
    let window = |(ns, (above, below, proven)): ([i64; 9], (u32, u32, bool))| {
        let [start_ns, end_ns, at_ns, offset_ns, lo_ns, hi_ns, drift_ppb, drift_lo_ppb, drift_hi_ppb] = ns;
        GpuClockWindow {
            start_ns,
            end_ns,
            at_ns,
            offset_ns,
            lo_ns,
            hi_ns,
            drift_ppb,
            drift_lo_ppb,
            drift_hi_ppb,
            above,
            below,
            proven,
        }
    };
    GpuClock {
        operations: numbers[0],
        unlaunched: numbers[1],
        unusable: [numbers[2]; 6],
        step_ns: 32,
        windows: windows.into_iter().map(window).collect(),
        lineless: [numbers[3]; 3],
        placed: numbers[0].is_multiple_of(2).then(|| GpuPlaced {
            placed: numbers[1],
            not_placed: [numbers[2]; 5],
            error_max_ns: numbers[3].cast_signed(),
        }),
    }
}

prop_compose! {
    fn any_unchecked()(
        mut part in lists(),
        rank in any::<Option<u32>>(), world_size in any::<Option<u32>>(), host in prop::option::of(text()),
        device in prop::option::of(text()), file in text(), numbers in any::<[u64; 4]>(), flags in any::<[bool; 3]>(),
        bounds in prop::option::of(stamps()), marked_steps in prop::collection::vec(stamp(), 0..4), fingerprint in any::<u128>(),
        problems in prop::collection::vec((prop::sample::select(ProblemKind::ALL.to_vec()), 0u64..9, text()), 0..5),
        readings in prop::collection::vec((any::<u32>(), stamps(), any::<u64>()), 0..3),
        tracer in prop::option::of((text(), any::<u64>())), gpu in prop::option::of((text(), stamp())),
        gpu_clock in prop::option::of(prop::collection::vec((any::<[i64; 9]>(), any::<(u32, u32, bool)>()), 0..3)),
        collectives_rank in any::<u32>(),
    ) -> Part {
        let about = &mut part.about;
        about.rank = rank.map(|rank| (Rank(rank), RankSource::FileName));
        (about.world_size, about.host, about.device, about.file) = (world_size, host, device, file.clone());
        (about.format, about.bytes, about.events) = (SourceFormat::XSpace, numbers[0], numbers[1]);
        (about.is_training, about.has_device_work, about.earlier) = (flags[0], flags[1], flags[2]);
        (about.bounds_ns, about.marked_steps, about.fingerprint) = (bounds, marked_steps, Fingerprint(fingerprint));
        problems.into_iter().for_each(|(kind, offset, detail)| about.problems.add_detailed(kind, offset, 7, detail));
        let reading = |(clock, (trace_ns, ns), width_ns)| ClockReading { clock: HostClock::Other(clock), trace_ns, ns, width_ns };
        about.clock_readings = readings.into_iter().map(reading).collect();
        about.gpu = gpu.map(|(uuid, ahead_of_counter_ns)| OwnGpu { uuid, ahead_of_counter_ns });
        about.gpu_clock = gpu_clock.map(|windows| gpu_clock_of(numbers, windows));
        part.exports.push(Export { file, place: Place { file: collectives_rank, member: 2 }, spans: collectives_rank, fingerprint: Fingerprint(fingerprint.rotate_left(9)) });
        let tracer = tracer.map(|(clock, events)| SettledTracer { clock, knots: 1, passed_over: 2, steps: 3, events, extrapolated: 4 });
        part.tracers.extend(tracer);
        part.collectives.rank = Rank(collectives_rank);
        (part.report.side, part.report.step_source) = (Side::Device, StepSource::Launches);
        part.report.copies.peer_to_peer = Copied { count: numbers[2], total_ns: -1, bytes: numbers[3] };
        part
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_part_comes_back(part in any_part()) {
        comes_back(&part, "any");
    }

    #[test]
    fn damage_below_the_checksums_never_panics(part in any_part(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = laid_bare(&file(&part));
        for (place, value) in changes {
            let at = 16 + place.index(bytes.len() - 16);
            bytes[at] = value;
        }
        if let Ok(read) = read_part(&laid_bare(&bytes)[..]) {
            comes_back(&read.part, "what can be read can be written");
        }
    }
}

#[test]
fn the_rules_come_back_whatever_their_version() {
    let mut rules = Rules::new(ClassMode::Tracelens, vec!["my_comm.*".into(), String::new()], true);
    rules.accounting = u32::MAX;
    let mut bytes = Vec::new();
    write_part(&part(0, &Dialect::default()), Place::default(), &rules, &mut bytes).unwrap();
    assert_eq!(read_part(&bytes[..]).unwrap().rules, rules);
}

#[test]
fn more_collectives_than_a_block_takes_come_back() {
    let mut part = part(0, &Dialect::default());
    let one = part.collectives.collectives.stay(0).to_local();
    part.collectives.groups.push(Group::default());
    part.collectives.collectives = (0..70_000)
        .map(|at| {
            let mut next = one.clone();
            (next.start_ns, next.group, next.sequence) =
                (one.start_ns + at, u32::from(at % 3 == 0), Sequence::of(Some(at as u64)));
            next
        })
        .collect();
    part.report.exposed_ns = vec![0; 70_000].into_iter().collect();
    comes_back(&part, "many collectives");
}

#[test]
fn a_changed_file_is_refused() {
    let bytes = file(&part(1, &Dialect::default()));
    for len in 0..bytes.len() {
        assert!(read_part(&bytes[..len]).is_err(), "the first {len} bytes");
    }
    let mut flipped = bytes.clone();
    for at in 0..bytes.len() {
        flipped[at] ^= 1 << (at % 8);
        assert!(read_part(&flipped[..]).is_err(), "byte {at}");
        flipped[at] = bytes[at];
    }
    assert_eq!(read_part(&b"{\"traceEvents\": []}"[..]), Err(Error::NotAPart));
    let mut newer = bytes.clone();
    newer[8..10].copy_from_slice(&(SCHEMA + 1).to_le_bytes());
    let sum = crc32c::crc32c(&newer[..12]);
    newer[12..16].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(read_part(&newer[..]), Err(Error::NewerSchema { found: SCHEMA + 1 }));
}

/// What reading says of a good file in which the blocks of `kind` are these.
fn refused(kind: u16, fill: impl Fn(&mut rankscope_part_files::ColumnsWriter)) -> String {
    let good = file(&part(1, &Dialect::default()));
    read_part(&with_block(&good, kind, fill)[..]).unwrap_err().to_string()
}

#[test]
fn lists_of_what_goes_to_each_rank_are_refused_where_they_do_not_fit() {
    const SPLITS: u16 = 19;
    let mut part = part(1, &Dialect::default());
    let kinds = |bytes: &[u8]| Reader::open(bytes).unwrap().kinds().filter(|kind| kind.0 == SPLITS).count();
    assert_eq!(kinds(&file(&part)), 0, "a part without such lists has no block of them");
    let mut rows = part.collectives.collectives.to_rows();
    let first = &mut rows[0];
    let mut operation = (*first.operation).clone();
    operation.splits = Splits::new(vec![5, 0, u32::MAX], vec![]);
    first.operation = Arc::new(operation);
    part.collectives.collectives = rows.into();
    comes_back(&part, "one list");
    let good = file(&part);
    let refused = |rows: [&[u64]; 5]| {
        let broken = with_block(&good, SPLITS, |columns| rows.iter().for_each(|column| columns.unsigned(column)));
        read_part(&broken[..]).unwrap_err().to_string()
    };
    let lists = "its lists are not as long as it says";
    assert!(refused([&[0], &[3], &[1, 2], &[0], &[]]).contains(lists));
    assert!(refused([&[0], &[1], &[1, 2], &[0], &[]]).contains(lists));
    assert!(refused([&[99], &[1], &[1], &[0], &[]]).contains("an operation that is not there"));
    assert!(!refused([&[0], &[1], &[1 << 40], &[0], &[]]).is_empty(), "more than 32 bits");
    assert!(!refused([&[0, 1], &[1], &[1], &[0], &[]]).is_empty(), "fewer lists than operations");
}

#[test]
fn blocks_that_do_not_fit_each_other_are_refused_by_name() {
    let count = part(1, &Dialect::default()).collectives.collectives.len();
    let order = |groups: &[u64], counts: &[u64]| {
        refused(8, |columns| {
            columns.unsigned(groups);
            columns.unsigned(counts);
        })
    };
    assert_eq!(order(&[9], &[count as u64]), "block 8: a collective is of a process group that is not there");
    assert_eq!(order(&[0], &[count as u64 + 1]), "block 9: there are not as many collectives as their order says");
    assert_eq!(order(&[0, 1], &[count as u64, 0]), "block 8: a process group came no times");
    for counts in [[1 << 40, 1], [u64::MAX, 1]] {
        assert_eq!(order(&[0, 1], &counts), "block 8: it has more collectives than the file has room for");
    }
    let row = |columns: &mut rankscope_part_files::ColumnsWriter, operation: u64, exposed: &[i64]| {
        [[5], [5], [0]].iter().for_each(|column| columns.signed(column));
        columns.unsigned(&[operation]);
        (0..2).for_each(|_| {
            columns.bits(&[false]);
            columns.signed(&[]);
        });
        columns.bits(&[false]);
        columns.signed(exposed);
    };
    assert_eq!(refused(9, |columns| row(columns, 99, &[1])), "block 9: a collective is of an operation that is not there");
    for exposed in [&[][..], &[1, 2]] {
        assert_eq!(
            refused(9, |columns| row(columns, 0, exposed)),
            "block 9: there are not as many exposed times as collectives"
        );
    }
    let times = |passed: [u64; 2], by_known: [bool; 2], lengths: &[u64], ends: &[i64]| {
        refused(13, |columns| {
            (0..3).for_each(|_| {
                columns.unsigned(&passed);
                columns.unsigned(&[0, 0]);
                columns.bits(&by_known);
                columns.unsigned(lengths);
                columns.signed(ends);
            });
        })
    };
    let own = [false, false];
    assert_eq!(times([0, 0], own, &[5, 4], &[]), "block 13: an interval is empty, or touches the one before");
    let not_there = "block 13: an interval begins or ends by a collective that is not there";
    assert_eq!(times([0, 99], own, &[5, 4], &[]), not_there);
    assert_eq!(times([0, 2 * count as u64], [false, true], &[5], &[1]), not_there);
    assert_eq!(times([0, 0], [false, true], &[5, 4], &[]), not_there);
    let problems = |columns: &mut rankscope_part_files::ColumnsWriter| {
        columns.enums(&[3, 3]);
        (0..2).for_each(|_| columns.unsigned(&[1, 2]));
        columns.strings(["", ""]);
    };
    assert_eq!(refused(2, problems), "block 2: its problems are not in order, or one comes twice");
    let names = |columns: &mut rankscope_part_files::ColumnsWriter| {
        columns.strings(["gemm"]);
        columns.enums(&[99]);
    };
    assert_eq!(refused(14, names), "block 14, column 1: value 99 stands for nothing that this version knows");
    let groups = |columns: &mut rankscope_part_files::ColumnsWriter| {
        columns.unsigned(&[1]);
        (0..2).for_each(|_| columns.strings(["a"]));
        columns.unsigned(&[1 << 40]);
        columns.signed(&[0]);
    };
    assert_eq!(refused(6, groups), "block 6: it lists fewer ranks than its process groups have");
    let checked = file(&checked_part(1, &Dialect::default()));
    let refused = |kind: u16, fill: &dyn Fn(&mut rankscope_part_files::ColumnsWriter)| {
        read_part(&with_block(&checked, kind, fill)[..]).unwrap_err().to_string()
    };
    let rules = |columns: &mut rankscope_part_files::ColumnsWriter, findings: u64| {
        columns.enums(&[9, 9]);
        (0..2).for_each(|_| columns.unsigned(&[0, 0]));
        columns.unsigned(&[0, findings]);
    };
    assert_eq!(refused(15, &|columns| rules(columns, 0)), "block 15: its rules are not in order, or one comes twice");
    let none = |columns: &mut rankscope_part_files::ColumnsWriter| {
        columns.enums(&[9]);
        (0..2).for_each(|_| columns.unsigned(&[0]));
        columns.unsigned(&[1_000_000]);
    };
    assert_eq!(refused(15, &none), "block 16: there are fewer findings than its rules have");
    let options = |columns: &mut rankscope_part_files::ColumnsWriter, rows: usize| {
        columns.bits(&vec![false; rows]);
        columns.signed(&[]);
    };
    let recorded = |columns: &mut rankscope_part_files::ColumnsWriter, stream: u64, rows: usize| {
        columns.unsigned(&vec![stream; rows]);
        options(columns, rows);
    };
    assert_eq!(
        refused(18, &|columns| recorded(columns, 99, count)),
        "block 18: a collective ran on a stream that is not there"
    );
    assert_eq!(refused(18, &|columns| recorded(columns, 0, count + 1)), "block 18: there are not as many ids as collectives");
    let streams = |columns: &mut rankscope_part_files::ColumnsWriter| {
        columns.strings([""; 0]);
        options(columns, 0);
        columns.strings([""; 0]);
        columns.unsigned(&[0]);
        options(columns, 1);
        columns.strings(["async"]);
    };
    assert_eq!(refused(17, &streams), "block 17: a stream is of a device that is not there");
    let bare = laid_bare(&file(&part(1, &Dialect::default())));
    assert_eq!(read_part(&laid_bare(&bare[..40])[..]), Err(Error::Count { kind: rankscope_part_files::Kind(6), found: 0 }));
}

#[test]
fn a_part_that_would_not_come_back_is_not_written() {
    let of_other_group = |part: &mut Part| {
        let mut rows = part.collectives.collectives.to_rows();
        rows[0].group = 99;
        part.collectives.collectives = rows.into();
    };
    let written = |change: &dyn Fn(&mut Part)| {
        let (mut part, mut bytes) = (part(1, &Dialect::default()), Vec::new());
        change(&mut part);
        let refused = write_part(&part, Place::default(), &Rules::default(), &mut bytes).unwrap_err();
        assert_eq!(bytes, b"", "nothing is written");
        refused
    };
    assert!(matches!(written(&|part| part.report.exposed_ns.extend([1])), Error::Unwritable { .. }));
    assert!(matches!(written(&of_other_group), Error::Unwritable { .. }));
    assert!(matches!(written(&|part| part.evidence = Some(RankEvidence::default())), Error::Unwritable { .. }));
    let long = written(&|part| part.about.file = "x".repeat(STRING_BYTES_MAX + 1));
    assert!(matches!(long, Error::Column { fault: ColumnFault::TooLong, .. }), "{long}");
}

#[test]
fn a_full_disk_is_called_by_its_name() {
    let (part, mut small) = (part(1, &Dialect::default()), [0u8; 64]);
    let error = write_part(&part, Place::default(), &Rules::default(), Cursor::new(&mut small[..])).unwrap_err();
    assert!(matches!(error, Error::Io { kind: io::ErrorKind::WriteZero, .. }), "{error}");
}

#[test]
fn a_small_file_does_not_inflate_to_a_large_one() {
    // Collectives that differ in nothing: what is stored may be tiny, but not ever so much smaller than what it stands for.
    let mut part = part(1, &Dialect::default());
    part.collectives.collectives = vec![part.collectives.collectives.stay(0).to_local(); 100_000].into();
    part.report.exposed_ns = vec![0; 100_000].into_iter().collect();
    let bytes = file(&part);
    let bare = laid_bare(&bytes).len();
    assert!(bare < 64 * bytes.len(), "{} to {bare}", bytes.len());
    comes_back(&part, "equal collectives");
}
