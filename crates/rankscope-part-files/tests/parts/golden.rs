//! Files of every schema stay readable, and what is in their blocks stays what it is.
//!
//! Each file is the part of rank 1 of the testkit's small job, laid bare: how well zstd compresses is not part of the schema.

use rankscope_align::validate::{Key, Rule};
use rankscope_analyze::{Class, StepWindow};
use rankscope_collectives::Kind;
use rankscope_job::{Fingerprint, Place};
use rankscope_part_files::{laid_bare, read_part};
use rankscope_time::Rank;
use rankscope_trace::{RankSource, SourceFormat, SpanId};

use crate::common::file_by;

const GOLDEN: &[u8] = include_bytes!("../golden/schema-1.rkpart");

/// The same part with the checks of validation.
const CHECKED: &[u8] = include_bytes!("../golden/schema-1-checked.rkpart");

/// Both as they are written now.
const NOW: &[u8] = include_bytes!("../golden/schema-2.rkpart");
const CHECKED_NOW: &[u8] = include_bytes!("../golden/schema-2-checked.rkpart");

#[test]
fn a_file_of_schema_1_means_what_it_meant() {
    let stored = read_part(GOLDEN).unwrap();
    assert_eq!((stored.place, stored.rules.accounting), (Place { file: 3, member: 1 }, 1));
    let part = &stored.part;
    assert_eq!(part.about.rank, Some((Rank(1), RankSource::Header)));
    assert_eq!((part.about.format, part.about.file.as_str()), (SourceFormat::Kineto, "rank1.json"));
    assert_eq!(part.about.fingerprint, Fingerprint(39_817_862_904_373_822_105_717_071_672_697_033_488));
    let first = part.collectives.collectives.stay(0);
    assert_eq!((first.kind, first.dtype.as_str(), first.in_elements), (Kind::AllReduce, "BFloat16", Some(2_048)));
    assert_eq!((first.start_ns, first.end_ns), (1_795_213_554_919_731_240, 1_795_213_554_919_743_558));
    assert_eq!((first.span, first.sequence.get(), first.peer), (SpanId(81), None, None));
    let groups =
        part.collectives.groups.iter().map(|group| (group.name.as_str(), group.description.as_str(), group.ranks.len()));
    assert_eq!(groups.collect::<Vec<_>>(), [("1", "mesh_tp", 2), ("0", "default_pg", 4)]);
    assert_eq!((part.collectives.collectives.len(), part.report.exposed_ns.iter().sum()), (12, 139_116));
    let whole = part.report.accounting.whole();
    assert_eq!((whole.computation_ns, whole.exposed_comm_ns, whole.exposed_memcpy_ns), (3_420_584, 139_116, 146_930));
    assert_eq!((whole.total_ns, whole.total_comm_ns, whole.total_memcpy_ns), (3_799_177, 201_179, 557_596));
    let last = StepWindow { number: 2, start_ns: 1_795_213_554_921_936_846, end_ns: 1_795_213_554_923_189_867 };
    assert_eq!(part.report.steps.last(), Some(&last));
    let longest = &part.report.names[0];
    assert_eq!((longest.class, longest.count, longest.total_ns), (Class::Compute, 24, 1_479_844));
}

#[test]
fn its_blocks_are_written_in_the_same_way() {
    for (golden, now) in [(GOLDEN, NOW), (CHECKED, CHECKED_NOW)] {
        let stored = read_part(golden).unwrap();
        assert_eq!(read_part(now).unwrap(), stored);
        assert!(laid_bare(&file_by(&stored.part, &stored.rules)) == now);
    }
}

#[test]
fn a_checked_file_of_schema_1_means_what_it_meant() {
    let stored = read_part(CHECKED).unwrap();
    assert!(stored.rules.checks && !read_part(GOLDEN).unwrap().rules.checks);
    let evidence = stored.part.evidence.as_ref().unwrap();
    assert_eq!(evidence.checks.iter().map(|check| check.rule).collect::<Vec<_>>(), Rule::OF_TRACE);
    let check = |rule: Rule| evidence.checks.iter().find(|check| check.rule == rule).map(|check| (check.judged, check.found));
    let streams = evidence.streams.iter().map(|stream| (stream.device, stream.key.clone()));
    let streams = streams.collect::<Vec<_>>();
    let first = evidence.collectives[0];
    assert_eq!(
        (check(Rule::KernelAfterLaunch), check(Rule::Nesting), first.stream, first.correlation),
        (Some((159, 0)), Some((856, 0)), 0, Some(15))
    );
    assert_eq!(streams, [(0, Key::Number(17)), (0, Key::Number(13))]);
    assert_eq!((evidence.devices[0].name.as_str(), evidence.collectives.len()), ("python", 12));
}
