//! Whole jobs with known clocks: on true clocks nothing is violated, on wrong ones what must be is, and putting the clocks
//! right puts everything right.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use proptest::prelude::*;
use rankscope_align::validate::{Meeting, Participants, RankEvidence, Rule, Verdict, Weight, meet};
use rankscope_collectives::{CommPatterns, Matched, extract, match_ranks};
use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_testkit::{Job, Metadata, NodeClock, Straggler};
use rankscope_time::{ClockMap, Rank, RankClock, ReferenceClock, Span};
use rankscope_trace::Trace;

type Map = ClockMap<RankClock, ReferenceClock>;

/// A job as read from its files.
struct Read {
    evidence: Vec<RankEvidence>,
    participants: Participants,
    matched: Matched,
}

impl Read {
    fn of(job: &Job) -> Self {
        let options = |rank| ReadOptions::default().with_label(format!("rank{rank}.json")).with_args(ArgsPolicy::All);
        let trace = |(rank, bytes)| read(std::io::Cursor::new(bytes), &options(rank)).unwrap().remove(0).trace.unwrap();
        Self::of_traces(job.all_ranks().into_iter().enumerate().map(trace).collect())
    }

    fn of_traces(traces: Vec<Trace>) -> Self {
        let patterns = CommPatterns::default();
        let ranks: Vec<_> =
            traces.iter().enumerate().map(|(rank, trace)| extract(Rank(rank as u32), trace, &patterns)).collect();
        let evidence: Vec<_> = traces.iter().zip(&ranks).map(|(trace, found)| RankEvidence::of(trace, found)).collect();
        let participants = Participants::of(&evidence, ranks);
        let matched = match_ranks(&participants.collectives);
        Self { evidence, participants, matched }
    }

    /// Its meetings if each rank's clock is put back by so much.
    fn put_back(&self, by_ns: &[i64]) -> Vec<Meeting> {
        let maps: Vec<Map> = by_ns.iter().map(|by| Map::from_offset(Span::from_nanos(-by), 0)).collect();
        meet(&self.evidence, &maps.iter().collect::<Vec<_>>(), &self.participants, &self.matched)
    }
}

fn violations(meetings: &[Meeting]) -> usize {
    meetings.iter().filter(|meeting| matches!(meeting.verdict, Verdict::Violation { .. })).count()
}

fn jobs() -> impl Strategy<Value = Job> {
    let metadata = prop_oneof![Just(Metadata::Args), Just(Metadata::ArgsAndSeq)];
    (2u32..6, 1u32..3, 1u32..6, metadata, any::<u64>(), prop::option::of(1.1f64..2.0)).prop_map(
        |(ranks, steps, layers, metadata, seed, factor)| Job {
            ranks,
            steps,
            layers,
            metadata,
            seed,
            ops_per_step: 24,
            gpus_per_node: 1,
            straggler: factor.map(|factor| Straggler { rank: ranks - 1, factor }),
            ..Job::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_job_on_true_clocks_breaks_no_rule(job in jobs()) {
        let read = Read::of(&job);
        let meetings = read.put_back(&vec![0; read.evidence.len()]);
        prop_assert_eq!(violations(&meetings), 0);
        prop_assert!(meetings.iter().any(|meeting| meeting.verdict == Verdict::Overlap));
        for check in read.evidence.iter().flat_map(|rank| &rank.checks) {
            prop_assert!(check.found == 0 || check.rule.weight() == Weight::Warning, "{check:?}");
        }
    }

    /// Ahead by more than a rank's longest stay, its clock makes every common collective impossible; put back, none.
    #[test]
    fn a_clock_beyond_the_slack_shows_and_put_right_no_more(job in jobs(), ahead in any::<bool>(), beyond in 1i64..1_000_000) {
        let truth = job.truth();
        let longest = truth.collectives.iter().flat_map(|collective| {
            let first = collective.arrival_ns.iter().min().copied();
            let last = collective.end_ns.iter().max().copied();
            Some(last? - first?)
        }).max().unwrap_or(0);
        let offset_ns = (longest + beyond) * if ahead { 1 } else { -1 };
        let mut wrong = job.clone();
        wrong.clocks = vec![NodeClock { offset_ns, drift_ppb: 0 }];
        let read = Read::of(&wrong);
        let judged = |meetings: &[Meeting]| meetings.iter().filter(|meeting| meeting.rule.is_some()).count();
        let as_recorded = read.put_back(&vec![0; read.evidence.len()]);
        prop_assert!(judged(&as_recorded) > 0);
        prop_assert_eq!(violations(&as_recorded), judged(&as_recorded));
        let mut right = vec![0; read.evidence.len()];
        right[0] = offset_ns;
        let put_right = read.put_back(&right);
        prop_assert_eq!((judged(&put_right), violations(&put_right)), (judged(&as_recorded), 0));
    }
}

#[test]
fn annotations_of_kernels_that_follow_at_once_do_not_overlap() {
    let straggler = Some(Straggler { rank: 1, factor: 1.7922120775001018 });
    let job = Job {
        ranks: 2,
        steps: 1,
        layers: 3,
        ops_per_step: 24,
        gpus_per_node: 1,
        straggler,
        metadata: Metadata::Args,
        seed: 2_986_079_570_749_627_721,
        ..Job::default()
    };
    for check in Read::of(&job).evidence.iter().flat_map(|rank| &rank.checks) {
        assert!(check.found == 0 || check.rule.weight() == Weight::Warning, "{check:?}");
    }
}

#[test]
fn a_gap_within_what_clocks_may_be_off_is_not_certain() {
    let mut job = Job { ranks: 2, gpus_per_node: 1, ..Job::default() };
    job.clocks = vec![NodeClock { offset_ns: 100_000_000, drift_ppb: 0 }];
    let read = Read::of(&job);
    for (uncertainty_ns, expected) in [(0, true), (1_000_000, true), (200_000_000, false)] {
        let map = Map::from_offset(Span::ZERO, uncertainty_ns);
        let meetings = meet(&read.evidence, &[&map, &map], &read.participants, &read.matched);
        let certain = meetings.iter().filter_map(|meeting| match meeting.verdict {
            Verdict::Violation { certain, .. } => Some(certain),
            _ => None,
        });
        assert!(certain.clone().count() > 10);
        assert!(certain.into_iter().all(|certain| certain == expected));
    }
}

/// Kernels of one process with several devices and no process groups, as XLA has them.
fn devices(stays: &[(u32, i64, i64)]) -> Vec<u8> {
    let kernel = |(device, start, end): &(u32, i64, i64)| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)","pid":{device},"tid":{},"ts":{start},"dur":{}}}"#,
            7 + device,
            end - start
        )
    };
    format!("{{\"traceEvents\": [{}]}}", stays.iter().map(kernel).collect::<Vec<_>>().join(",")).into_bytes()
}

fn one_process(stays: &[(u32, i64, i64)]) -> Vec<Meeting> {
    let options = ReadOptions::default().with_label("node.json").with_args(ArgsPolicy::All);
    let trace = read(std::io::Cursor::new(devices(stays)), &options).unwrap().remove(0).trace.unwrap();
    let read = Read::of_traces(vec![trace]);
    assert_eq!(read.participants.list.len(), 2);
    read.put_back(&[0])
}

#[test]
fn devices_of_one_process_are_kept_apart() {
    // In one queue by time, the second collective of the one device would meet the first of the other.
    let together = [(0, 100, 200), (1, 150, 205), (0, 300, 400), (1, 380, 405), (0, 500, 600), (1, 510, 610)];
    let meetings = one_process(&together);
    assert_eq!(meetings.len(), 3);
    assert!(meetings.iter().all(|meeting| meeting.stays.len() == 2 && meeting.verdict == Verdict::Overlap));
    assert_eq!(meetings.iter().map(|meeting| meeting.occurrence).collect::<Vec<_>>(), [0, 1, 2]);
    let apart = together.map(|(device, start, end)| (device, start + 150 * i64::from(device), end + 150 * i64::from(device)));
    assert_eq!(violations(&one_process(&apart)), 3);
}

/// Two ranks with one operation that names the other end, at these times.
fn pair(name: &str, args: [&str; 2], stays: [(i64, i64); 2]) -> Meeting {
    let trace = |rank: usize| {
        let (start, end) = stays[rank];
        let text = format!(
            r#"{{"distributedInfo": {{"rank": {rank}, "world_size": 2}}, "traceEvents": [{{"ph":"X","cat":"kernel","name":"ncclDevKernel_{name}(x)","pid":0,"tid":7,"ts":{start},"dur":{},"args":{{"Group size":2,"Process Group Name":"0","Process Group Ranks":"[0, 1]","dtype":"Float","In msg nelems":8,{}}}}}]}}"#,
            end - start,
            args[rank]
        );
        let options = ReadOptions::default().with_label(format!("rank{rank}.json")).with_args(ArgsPolicy::All);
        read(std::io::Cursor::new(text.into_bytes()), &options).unwrap().remove(0).trace.unwrap()
    };
    let mut meetings = Read::of_traces(vec![trace(0), trace(1)]).put_back(&[0, 0]);
    assert_eq!(meetings.len(), 1);
    meetings.remove(0)
}

#[test]
fn a_receive_ends_after_its_send_starts() {
    let args = [r#""Collective name":"send","Dst Rank":1"#, r#""Collective name":"recv","Src Rank":0"#];
    for (stays, ok) in [
        ([(100, 200), (150, 210)], true),
        ([(100, 200), (300, 310)], true),
        ([(100, 200), (10, 101)], true),
        ([(100, 200), (10, 100)], false),
    ] {
        let meeting = pair("SendRecv", args, stays);
        assert_eq!(meeting.rule, Some(Rule::ReceiveAfterSend));
        assert_eq!(meeting.verdict == Verdict::Overlap, ok, "{stays:?}");
    }
}

#[test]
fn a_root_binds_in_one_direction_only() {
    let broadcast = [r#""Collective name":"broadcast","Src Rank":0"#; 2];
    let reduce = [r#""Collective name":"reduce","Dst Rank":0"#; 2];
    for (name, args, stays, ok) in [
        ("Broadcast", broadcast, [(100, 110), (500, 510)], true),
        ("Broadcast", broadcast, [(500, 510), (100, 110)], false),
        ("Reduce", reduce, [(100, 110), (500, 510)], false),
        ("Reduce", reduce, [(500, 510), (100, 110)], true),
    ] {
        let meeting = pair(name, args, stays);
        assert_eq!(meeting.rule, Some(Rule::RootTakesPart));
        assert_eq!(meeting.verdict == Verdict::Overlap, ok, "{name} {stays:?}");
    }
    let rootless = [r#""Collective name":"broadcast""#; 2];
    assert_eq!(pair("Broadcast", rootless, [(500, 510), (100, 110)]).verdict, Verdict::Unjudged);
}

#[test]
fn a_root_that_only_the_operator_names_binds_too() {
    let trace = |(rank, [start, end]): (u32, [i64; 2])| {
        let text = format!(
            r#"{{"distributedInfo": {{"rank": {rank}, "world_size": 2}}, "traceEvents": [
            {{"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":9,"ts":10,"dur":5,"args":{{"External id":3,"Collective name":"broadcast","Src Rank":0,"Group size":2,"Process Group Name":"0","Process Group Ranks":"[0, 1]","dtype":"Float","In msg nelems":8}}}},
            {{"ph":"X","cat":"kernel","name":"ncclDevKernel_Broadcast(x)","pid":0,"tid":7,"ts":{start},"dur":{},"args":{{"External id":3}}}}]}}"#,
            end - start
        );
        let options = ReadOptions::default().with_label(format!("rank{rank}.json")).with_args(ArgsPolicy::All);
        read(std::io::Cursor::new(text.into_bytes()), &options).unwrap().remove(0).trace.unwrap()
    };
    for (root, other, ok) in [([100, 110], [500, 510], true), ([500, 510], [100, 110], false)] {
        let meetings = Read::of_traces(vec![trace((0, root)), trace((1, other))]).put_back(&[0, 0]);
        assert_eq!((meetings.len(), meetings[0].rule), (1, Some(Rule::RootTakesPart)));
        assert_eq!(meetings[0].verdict == Verdict::Overlap, ok);
    }
}
