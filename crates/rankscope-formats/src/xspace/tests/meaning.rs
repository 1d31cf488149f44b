use rankscope_time::Rank;
use rankscope_trace::{
    ArgValue, CategoryKind, FlowPhase, FlowPoint, ProblemKind, RankSource, SpanId, Trace, TrackKey, TrackKind,
};

use super::{ALL, FIXTURES, picture, written};
use crate::wire::Encoder;
use crate::xspace::read;
use crate::{ReadOptions, Scope};

/// A device plane of one line called `line` whose events and tables `fill` writes.
fn device(line: &str, events: impl FnOnce(&mut Encoder), tables: impl FnOnce(&mut Encoder)) -> Vec<u8> {
    let mut out = Encoder::default();
    out.message(1, |plane| {
        plane.varint(1, 9).string(2, "/device:GPU:2");
        plane.message(3, |out| {
            out.varint(1, 17).string(2, line).varint(3, 1_000);
            events(out);
            out.varint(9, 77).varint(10, 5).string(11, "shown");
        });
        tables(plane);
    });
    out.bytes().to_vec()
}

fn name(plane: &mut Encoder, field: u32, id: u64, name: &str) {
    plane.message(field, |entry| {
        entry.varint(1, id).message(2, |value| {
            value.varint(1, id).string(2, name);
        });
    });
}

fn kinds(trace: &Trace) -> Vec<CategoryKind> {
    trace.spans.ids().map(|span| trace.kind(span)).collect()
}

#[test]
fn lines_and_planes_become_tracks() {
    let bytes = device(
        "Stream #17(Kernel)",
        |line| {
            line.bytes_field(4, &[8, 1]);
        },
        |plane| name(plane, 4, 1, "k"),
    );
    let trace = read(&*bytes, &ALL).unwrap();
    let tracks: Vec<_> = trace.tracks.iter().map(|(_, track)| track.clone()).collect();
    assert_eq!((tracks[0].kind, tracks[0].key, tracks[0].sort_index), (TrackKind::Device, TrackKey::Number(2), Some(9)));
    assert_eq!((tracks[1].kind, tracks[1].key, tracks[1].sort_index), (TrackKind::Stream, TrackKey::Number(17), Some(5)));
    assert_eq!((tracks[1].origin_ns, trace.strings.text(tracks[1].label)), (1_000, "shown"));
    assert_eq!(picture::whole(&read(&*written(&trace), &ALL).unwrap()), picture::whole(&trace));
}

#[test]
fn times_are_kept_to_the_picosecond() {
    let event = |line: &mut Encoder, offset_ps: i64, duration_ps: i64| {
        line.message(4, |event| {
            event.varint(2, offset_ps as u64).varint(3, duration_ps as u64);
        });
    };
    let events = |line: &mut Encoder| {
        event(line, 1_234, 5_678);
        event(line, -1, 0);
        event(line, 0, -1);
        event(line, 0, i64::MAX);
    };
    let trace = read(&*device("Stream #1", events, |_| {}), &ALL).unwrap();
    assert_eq!(trace.spans.start_ns, [1_001, 999, 1_000, 1_000]);
    assert_eq!(trace.spans.dur_ns, [5, 0, 0, 0]);
    assert_eq!(trace.spans.picos, [(234, 678), (999, 0), (0, 0), (0, 0)]);
    let problems = &trace.provenance.problems;
    assert_eq!(problems.count(ProblemKind::NegativeDuration), 1);
    assert_eq!(problems.count(ProblemKind::OverflowedDuration), 1);
    assert_eq!(problems.count(ProblemKind::MissingInterned), 4);
}

#[test]
fn every_kind_of_statistic_comes_back() {
    let stat = |event: &mut Encoder, fill: &dyn Fn(&mut Encoder)| {
        event.message(4, |stat| {
            stat.varint(1, 1);
            fill(stat);
        });
    };
    let events = |line: &mut Encoder| {
        line.message(4, |event| {
            event.varint(1, 1);
            stat(event, &|stat| {
                stat.double(2, 0.5);
            });
            stat(event, &|stat| {
                stat.varint(3, u64::MAX);
            });
            stat(event, &|stat| {
                stat.varint(4, -7i64 as u64);
            });
            stat(event, &|stat| {
                stat.string(5, "text");
            });
            stat(event, &|stat| {
                stat.bytes_field(6, &[0, 255]);
            });
            stat(event, &|stat| {
                stat.varint(7, 2);
            });
            stat(event, &|_| {});
        });
    };
    let tables = |plane: &mut Encoder| {
        name(plane, 4, 1, "event");
        name(plane, 5, 1, "key");
        name(plane, 5, 2, "name");
    };
    let trace = read(&*device("Stream #1", events, tables), &ALL).unwrap();
    let id = |text| trace.strings.find(text).unwrap();
    let values: Vec<_> = trace.spans.args.row(0).map(|(_, value)| value).collect();
    assert_eq!(
        values,
        [
            ArgValue::F64(0.5),
            ArgValue::U64(u64::MAX),
            ArgValue::I64(-7),
            ArgValue::Text(id("text")),
            ArgValue::Blob(0),
            ArgValue::Ref(id("name")),
            ArgValue::Null,
        ]
    );
    assert_eq!(&*trace.blobs[0], [0, 255]);
    assert!(trace.provenance.problems.is_empty());
    assert_eq!(picture::whole(&read(&*written(&trace), &ALL).unwrap()), picture::whole(&trace));
}

#[test]
fn metadata_keeps_its_ids_children_and_statistics() {
    for packed in [false, true] {
        let tables = |plane: &mut Encoder| {
            plane.message(4, |entry| {
                entry.varint(1, 40).message(2, |value| {
                    value.varint(1, 40).string(2, "fusion").bytes_field(3, b"opaque").string(4, "shown");
                    value.message(5, |stat| {
                        stat.varint(1, 1).varint(3, 12);
                    });
                    match packed {
                        true => value.bytes_field(6, &[41, 0xac, 2]),
                        false => value.varint(6, 41).varint(6, 300),
                    };
                });
            });
            name(plane, 5, 1, "flops");
        };
        let trace = read(
            &*device(
                "Stream #1",
                |line| {
                    line.bytes_field(4, &[8, 40]);
                },
                tables,
            ),
            &ALL,
        )
        .unwrap();
        let said = &trace.descriptions[trace.spans.description[0] as usize];
        assert_eq!((said.id, trace.strings.text(said.label), &*said.children), (40, "shown", &[41, 300][..]));
        assert_eq!(trace.description_args.row(0).count(), 1);
        assert_eq!(picture::whole(&read(&*written(&trace), &ALL).unwrap()), picture::whole(&trace));
    }
}

#[test]
fn aggregates_have_a_count_instead_of_a_time() {
    let events = |line: &mut Encoder| {
        line.message(4, |event| {
            event.varint(1, 1).varint(5, 12).varint(3, 3_000);
        });
    };
    let trace = read(&*device("Stream #1", events, |plane| name(plane, 4, 1, "k")), &ALL).unwrap();
    assert_eq!((trace.spans.start_ns[0], trace.spans.dur_ns[0], kinds(&trace)[0]), (1_000, 3, CategoryKind::Other));
    let key = trace.strings.find("num_occurrences").unwrap();
    assert_eq!(trace.spans.args.value(0, key), Some(ArgValue::I64(12)));
    let again = read(&*written(&trace), &ALL).unwrap();
    assert_eq!(picture::whole(&again), picture::whole(&trace));
    assert_eq!(again.spans.args.value(0, again.strings.find("num_occurrences").unwrap()), Some(ArgValue::I64(12)));
}

#[test]
fn notices_rank_and_host_are_found() {
    let mut bytes = device(
        "Stream #1",
        |line| {
            line.bytes_field(4, &[8, 1]);
        },
        |plane| name(plane, 4, 1, "k"),
    );
    let mut rest = Encoder::default();
    rest.string(2, "lost \"some\" events").string(4, "node3").string(4, "node4");
    rest.message(1, |plane| {
        plane.string(2, "Task Environment");
        plane.message(6, |stat| {
            stat.varint(1, 1).varint(3, 3);
        });
        plane.message(6, |stat| {
            stat.varint(1, 2).varint(3, 1_000_000);
        });
        name(plane, 5, 1, "process_index");
        name(plane, 5, 2, "profile_start_time");
    });
    bytes.extend_from_slice(rest.bytes());
    let trace = read(&*bytes, &ALL).unwrap();
    assert_eq!(trace.provenance.rank, Some((Rank(3), RankSource::Header)));
    assert_eq!(trace.provenance.host.as_deref(), Some("node3"));
    assert_eq!((trace.provenance.clock_base_ns, trace.spans.start_ns[0]), (Some(1_000_000), 1_001_000));
    let problem = trace.provenance.problems.iter().next().unwrap();
    assert_eq!((problem.kind, problem.detail.as_str()), (ProblemKind::ProfilerMessage, "lost \"some\" events"));
    assert_eq!(picture::whole(&read(&*written(&trace), &ALL).unwrap()), picture::whole(&trace));
}

#[test]
fn derived_lines_are_no_device_work() {
    for (line, expected) in [
        ("Stream #3", CategoryKind::Kernel),
        ("XLA Modules", CategoryKind::GpuUserAnnotation),
        ("Steps", CategoryKind::GpuUserAnnotation),
    ] {
        let trace = read(
            &*device(
                line,
                |line| {
                    line.bytes_field(4, &[8, 1]);
                },
                |plane| name(plane, 4, 1, "12"),
            ),
            &ALL,
        )
        .unwrap();
        assert_eq!(kinds(&trace), [expected], "{line}");
        assert_eq!(
            trace.steps.iter().map(|step| step.number).collect::<Vec<_>>(),
            if line == "Steps" { vec![12] } else { vec![] }
        );
    }
}

/// An event of sort 1 at `offset_ns` with these statistics, given by key and number.
fn event(line: &mut Encoder, offset_ns: u64, stats: &[(u64, u64)]) {
    line.message(4, |event| {
        event.varint(1, 1).varint(2, offset_ns * 1_000).varint(3, 5_000);
        for (key, value) in stats {
            event.message(4, |stat| {
                stat.varint(1, *key).varint(3, *value);
            });
        }
    });
}

/// Category, name, id, phase and time of every flow point.
fn points(trace: &Trace) -> Vec<(&str, &str, u64, FlowPhase, i64)> {
    let category = |point: &FlowPoint| trace.strings.text(trace.categories[usize::from(point.category)].name);
    let point = |point| (category(point), trace.strings.text(point.name), point.id, point.phase, point.time_ns);
    trace.flows.iter().map(point).collect()
}

#[test]
fn flows_come_from_numbers_contexts_and_correlations() {
    let tables = |plane: &mut Encoder| {
        name(plane, 4, 1, "work");
        for (id, key) in [(1, "flow"), (2, "_pt"), (3, "_p"), (4, "_ct"), (5, "_c"), (6, "correlation_id")] {
            name(plane, 5, id, key);
        }
    };
    let mut out = Encoder::default();
    out.message(1, |plane| {
        plane.string(2, "/host:CPU").message(3, |line| {
            line.string(2, "thread").varint(3, 1_000);
            event(line, 0, &[(2, 9), (3, 77), (6, 4)]);
            event(line, 10, &[(1, 5 << 2 | 2)]);
            event(line, 20, &[(1, 5 << 2 | 1), (6, 8)]);
            event(line, 30, &[(6, 8)]);
        });
        tables(plane);
    });
    out.message(1, |plane| {
        plane.string(2, "/device:GPU:0").message(3, |line| {
            line.string(2, "Stream #1").varint(3, 2_000);
            event(line, 0, &[(4, 9), (5, 77), (6, 4)]);
            event(line, 10, &[(6, 8)]);
        });
        tables(plane);
    });
    let trace = read(out.bytes(), &ALL).unwrap();
    let expected = [
        ("context", "gpu_launch", 77, FlowPhase::Start, 1_000),
        ("flow", "", 5, FlowPhase::Start, 1_010),
        ("flow", "", 5, FlowPhase::End, 1_020),
        ("context", "gpu_launch", 77, FlowPhase::End, 2_000),
        // The id 8 is of two launches, so nobody knows whose the second kernel is.
        ("ac2g", "ac2g", 4, FlowPhase::Start, 1_000),
        ("ac2g", "ac2g", 4, FlowPhase::End, 2_000),
    ];
    assert_eq!(points(&trace), expected);
    let again = read(&*written(&trace), &ALL).unwrap();
    assert_eq!(points(&again), expected);
}

#[test]
fn a_real_file_means_what_it_says() {
    let trace = read(FIXTURES[0], &ReadOptions::default()).unwrap();
    let steps: Vec<_> = trace.steps.iter().map(|step| step.number).collect();
    assert_eq!(steps, (0..10).collect::<Vec<_>>());
    let count = |kind| kinds(&trace).into_iter().filter(|known| *known == kind).count();
    assert_eq!((count(CategoryKind::PythonFunction), count(CategoryKind::CpuOp)), (17, 40));
    let collectives: Vec<_> = trace.collectives.iter().map(|args| trace.strings.text(args.name)).collect();
    assert_eq!(collectives, ["all-reduce"; 20]);
    assert_eq!(trace.provenance.host.as_deref(), Some("vm"));
    assert!(trace.provenance.problems.is_empty());
    assert!(trace.descriptions.is_empty() && trace.spans.args.rows() == 0);

    let narrow = read(FIXTURES[0], &ReadOptions { scope: Scope::Device, ..ReadOptions::default() }).unwrap();
    assert!(narrow.spans.len() < trace.spans.len() / 2);
    assert_eq!((narrow.steps.len(), narrow.collectives.len()), (10, 20));
    assert!(narrow.steps.iter().all(|step| narrow.kind(SpanId(step.span.0)) == CategoryKind::UserAnnotation));
}
