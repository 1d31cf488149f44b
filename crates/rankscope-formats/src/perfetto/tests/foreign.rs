//! Files that others write, packet by packet.

use std::io::Read;

use super::super::schema::{
    self, annotation, clock, entry, event, interned, legacy, packet, process, snapshot, stage, thread, track,
};
use super::*;
use crate::wire::TAKEN_BYTES_MAX;

/// A file under construction. All packets are of sequence 1.
#[derive(Default)]
struct File(Encoder);

impl File {
    fn packet(&mut self, fill: impl FnOnce(&mut Encoder)) -> &mut Self {
        self.0.message(schema::PACKET, |body| {
            body.varint(packet::SEQUENCE_ID, 1);
            fill(body);
        });
        self
    }

    fn process(&mut self, uuid: u64, pid: u64, name: &str) -> &mut Self {
        self.packet(|body| {
            body.message(packet::TRACK_DESCRIPTOR, |body| {
                body.varint(track::UUID, uuid);
                body.message(track::PROCESS, |body| {
                    body.varint(process::PID, pid).string(process::NAME, name);
                });
            });
        })
    }

    fn thread(&mut self, uuid: u64, pid: u64, tid: u64, name: &str) -> &mut Self {
        self.packet(|body| {
            body.message(packet::TRACK_DESCRIPTOR, |body| {
                body.varint(track::UUID, uuid);
                body.message(track::THREAD, |body| {
                    body.varint(thread::PID, pid).varint(thread::TID, tid).string(thread::NAME, name);
                });
            });
        })
    }

    fn intern(&mut self, entries: &[(u32, u64, &str)]) -> &mut Self {
        self.packet(|body| {
            body.varint(packet::SEQUENCE_FLAGS, packet::STATE_CLEARED);
            body.message(packet::INTERNED_DATA, |body| {
                for (table, iid, text) in entries {
                    let field = if *table == interned::COMPUTE_KERNELS { entry::DEMANGLED } else { entry::TEXT };
                    body.message(*table, |body| {
                        body.varint(entry::IID, *iid).string(field, text);
                    });
                }
            });
        })
    }

    fn event(&mut self, time: u64, kind: u64, fill: impl FnOnce(&mut Encoder)) -> &mut Self {
        self.packet(|body| {
            body.varint(packet::TIMESTAMP, time);
            body.message(packet::TRACK_EVENT, |body| {
                body.varint(event::TYPE, kind);
                fill(body);
            });
        })
    }

    fn clocks(&mut self, readings: &[(u64, u64, u64, bool)]) -> &mut Self {
        self.packet(|body| {
            body.message(packet::CLOCK_SNAPSHOT, |body| {
                for (id, ticks, unit, incremental) in readings {
                    body.message(snapshot::CLOCKS, |body| {
                        body.varint(clock::ID, *id).varint(clock::TIMESTAMP, *ticks).varint(clock::UNIT_NS, *unit);
                        body.varint(clock::IS_INCREMENTAL, (*incremental).into());
                    });
                }
            });
        })
    }

    fn begin(&mut self, time: u64, track: u64, name: u64) -> &mut Self {
        self.event(time, event::SLICE_BEGIN, |body| {
            body.varint(event::TRACK_UUID, track).varint(event::NAME_IID, name);
        })
    }

    fn end(&mut self, time: u64, track: u64) -> &mut Self {
        self.event(time, event::SLICE_END, |body| {
            body.varint(event::TRACK_UUID, track);
        })
    }

    fn read(&self) -> Trace {
        read(self.0.bytes(), &ALL).unwrap()
    }
}

fn spans(trace: &Trace) -> Vec<(&str, CategoryKind, i64, i64)> {
    let row = |id| {
        let row = trace.spans.row(id);
        (trace.name(id), trace.kind(id), row.start_ns, row.dur_ns)
    };
    trace.spans.ids().map(row).collect()
}

/// What torch 2.15 writes: the begins of a batch before its ends, device work as render stages, launches tied to it by id.
#[test]
fn torch_render_stages_are_kernels() {
    let mut file = File::default();
    file.clocks(&[(clock::BOOTTIME, 500, 1, false), (clock::REALTIME, 1_000_500, 1, false)]);
    file.process(1, 4711, "python3").thread(2, 4711, 4711, "main").process(3, 0, "GPU 0").thread(4, 0, 7, "stream 7");
    file.intern(&[
        (interned::EVENT_NAMES, 1, "cudaLaunchKernel"),
        (interned::EVENT_NAMES, 2, "Stream Sync"),
        (interned::EVENT_CATEGORIES, 1, "cuda_runtime"),
        (interned::COMPUTE_KERNELS, 1, "sgemm"),
        (interned::GPU_SPECIFICATIONS, 1, "Kernel"),
        (interned::GPU_SPECIFICATIONS, 2, "Memcpy"),
        (interned::GPU_SPECIFICATIONS, 100, "[007] stream 7"),
    ]);
    let launch = |file: &mut File, time, stage| {
        file.event(time, event::SLICE_BEGIN, |body| {
            body.varint(event::TRACK_UUID, 2).varint(event::NAME_IID, 1).varint(event::CATEGORY_IIDS, 1);
            body.message(event::DEBUG_ANNOTATIONS, |body| {
                body.string(annotation::NAME, "correlation").varint(annotation::INT, 9);
            });
            body.message(event::GPU_CORRELATION, |body| {
                body.varint(1, stage);
            });
        });
    };
    launch(&mut file, 1_000, 51);
    launch(&mut file, 1_100, 52);
    file.end(1_050, 2).end(1_150, 2).begin(3_000, 4, 2).end(3_100, 4);
    for (id, time, duration, sort, kernel, wait) in [(51, 1_300, 400, 1, 1, 0), (52, 1_600, 50, 2, 0, 51)] {
        file.packet(|body| {
            body.varint(packet::TIMESTAMP, time);
            body.message(packet::GPU_RENDER_STAGE_EVENT, |body| {
                body.varint(stage::EVENT_ID, id).varint(stage::DURATION, duration).varint(stage::QUEUE_IID, 100);
                body.varint(stage::STAGE_IID, sort).varint(stage::KERNEL_IID, kernel).varint(stage::WAIT_IDS, wait);
                for (key, value) in [("correlation", "9"), ("bytes", "4096"), ("arch", "9.0")] {
                    body.message(stage::EXTRA_DATA, |body| {
                        body.string(1, key).string(2, value);
                    });
                }
            });
        });
    }
    let trace = file.read();
    let expected = [
        ("cudaLaunchKernel", CategoryKind::Runtime, 1_001_000, 50),
        ("cudaLaunchKernel", CategoryKind::Runtime, 1_001_100, 50),
        ("Stream Sync", CategoryKind::Sync, 1_003_000, 100),
        ("sgemm", CategoryKind::Kernel, 1_001_300, 400),
        ("Memcpy", CategoryKind::Memcpy, 1_001_600, 50),
    ];
    assert_eq!(spans(&trace), expected);
    assert_eq!(trace.provenance.clock_base_ns, Some(1_000_000));
    let stream = trace.tracks.get(trace.spans.track[3]);
    assert_eq!(
        (stream.kind, stream.key, trace.strings.text(stream.name)),
        (TrackKind::Stream, TrackKey::Number(7), "stream 7")
    );
    assert_eq!(trace.spans.track[2], trace.spans.track[3], "synchronisation lies on the stream of the kernels");
    assert_eq!((trace.correlations.get(SpanId(0)), trace.correlations.get(SpanId(3))), (Some(9), Some(9)));
    assert_eq!(trace.bytes.get(SpanId(4)), Some(4096));
    let flows: Vec<_> = trace.flows.iter().map(|point| (trace.strings.text(point.name), point.id, point.time_ns)).collect();
    let expected = [
        ("ac2g", 1, 1_001_000),
        ("ac2g", 1, 1_001_300),
        ("ac2g", 2, 1_001_100),
        ("ac2g", 2, 1_001_600),
        ("gpu_wait", 2, 1_001_300),
        ("gpu_wait", 2, 1_001_600),
    ];
    assert_eq!(flows, expected);
    assert!(trace.provenance.problems.is_empty());
}

#[test]
fn a_sequence_clock_counts_up_in_its_unit() {
    let mut file = File::default();
    file.thread(2, 1, 1, "t").clocks(&[(clock::BOOTTIME, 5_000_000, 1, false), (64, 7_000, 1_000, true)]);
    file.packet(|body| {
        body.varint(packet::SEQUENCE_FLAGS, packet::STATE_CLEARED);
        body.message(packet::DEFAULTS, |body| {
            body.varint(packet::TIMESTAMP_CLOCK_ID, 64);
            body.message(packet::TRACK_EVENT, |body| {
                body.varint(event::TRACK_UUID, 2);
            });
        });
    });
    for (ticks, kind) in [(10, event::SLICE_BEGIN), (3, event::SLICE_BEGIN), (4, event::SLICE_END), (5, event::SLICE_END)] {
        file.event(ticks, kind, |body| {
            body.string(event::NAME, "x").string(event::CATEGORIES, "cpu_op");
        });
    }
    let x = |start, dur| ("x", CategoryKind::CpuOp, start, dur);
    assert_eq!(spans(&file.read()), [x(5_010_000, 12_000), x(5_013_000, 4_000)]);
}

#[test]
fn losses_and_gaps_are_counted() {
    let mut file = File::default();
    file.thread(2, 1, 1, "t").intern(&[(interned::EVENT_NAMES, 1, "known")]);
    file.begin(10, 2, 1).end(20, 2).begin(30, 2, 99).end(40, 2);
    file.end(50, 2);
    file.begin(60, 2, 1);
    file.packet(|body| {
        body.varint(packet::PREVIOUS_DROPPED, 1).varint(packet::SEQUENCE_FLAGS, packet::NEEDS_STATE);
        body.varint(packet::TIMESTAMP, 70);
        body.message(packet::TRACK_EVENT, |body| {
            body.varint(event::TYPE, event::SLICE_BEGIN);
        });
    });
    file.packet(|body| {
        body.message(packet::TRACE_STATS, |body| {
            body.message(1, |body| {
                body.varint(3, 4).varint(19, 3);
            });
        });
    });
    file.event(80, event::INSTANT, |_| {});
    let trace = file.read();
    let problems = &trace.provenance.problems;
    let counts = [ProblemKind::MissingInterned, ProblemKind::UnbalancedSpan, ProblemKind::LostPackets];
    assert_eq!(counts.map(|kind| problems.count(kind)), [2, 2, 8]);
    let lengths: Vec<_> = spans(&trace).into_iter().map(|(name, _, start, dur)| (name, start, dur)).collect();
    assert_eq!(lengths, [("known", 10, 10), ("", 30, 10), ("known", 60, 20)]);
}

#[test]
fn json_phases_of_old_are_understood() {
    let mut file = File::default();
    file.packet(|body| {
        body.message(packet::THREAD_DESCRIPTOR, |body| {
            body.varint(thread::PID, 5).varint(thread::TID, 6).varint(thread::REFERENCE_US, 1_000);
        });
    });
    for (phase, delta, duration) in [(b'X', 10, 7), (b'B', 5, 0), (b'E', 3, 0), (b'i', 1, 0)] {
        file.packet(|body| {
            body.message(packet::TRACK_EVENT, |body| {
                body.varint(event::DELTA_US, delta).string(event::NAME, "x");
                body.message(event::LEGACY_EVENT, |body| {
                    body.varint(legacy::PHASE, phase.into()).varint(legacy::DURATION_US, duration);
                });
            });
        });
    }
    let trace = file.read();
    let x = |start, dur| ("x", CategoryKind::Other, start, dur);
    assert_eq!(spans(&trace), [x(1_010_000, 7_000), x(1_015_000, 3_000)]);
    assert_eq!(trace.instants[0].time_ns, 1_019_000);
    let thread = trace.tracks.get(trace.spans.track[0]);
    assert_eq!((thread.kind, thread.key), (TrackKind::Thread, TrackKey::Number(6)));
}

#[test]
fn nested_arguments_become_json() {
    let mut file = File::default();
    file.event(5, event::INSTANT, |body| {
        body.message(event::DEBUG_ANNOTATIONS, |body| {
            body.string(annotation::NAME, "list");
            for value in [1, 2] {
                body.message(annotation::ARRAY_VALUES, |body| {
                    body.varint(annotation::INT, value);
                });
            }
        });
        body.message(event::DEBUG_ANNOTATIONS, |body| {
            body.string(annotation::NAME, "dict");
            body.message(annotation::DICT_ENTRIES, |body| {
                body.string(annotation::NAME, "a").string(annotation::STRING, "b");
            });
        });
        body.message(event::DEBUG_ANNOTATIONS, |body| {
            body.string(annotation::NAME, "old");
            body.message(annotation::NESTED, |body| {
                body.varint(1, 1).string(2, "k").message(3, |body| {
                    body.double(6, 0.5);
                });
            });
        });
    });
    let trace = file.read();
    let args: Vec<_> = trace.instant_args.row(0).collect();
    let text = |value| if let ArgValue::Json(text) = value { trace.strings.text(text) } else { "" };
    let args: Vec<_> = args.into_iter().map(|(key, value)| (trace.strings.text(key), text(value))).collect();
    assert_eq!(args, [("list", "[1,2]"), ("dict", "{\"a\":\"b\"}"), ("old", "{\"k\":0.5}")]);
}

#[test]
fn bottomless_nesting_is_refused() {
    let mut inner = Encoder::default();
    inner.varint(annotation::INT, 1);
    for _ in 0..5_000 {
        let mut outer = Encoder::default();
        outer.bytes_field(annotation::ARRAY_VALUES, inner.bytes());
        inner = outer;
    }
    let mut file = File::default();
    file.event(5, event::INSTANT, |body| {
        body.bytes_field(event::DEBUG_ANNOTATIONS, inner.bytes());
    });
    assert_eq!(file.read().provenance.problems.count(ProblemKind::MalformedEvent), 1);
}

#[test]
fn tracks_that_are_their_own_parents_do_no_harm() {
    let mut file = File::default();
    for (uuid, parent) in [(1, 2), (2, 1), (3, 3)] {
        file.packet(|body| {
            body.message(packet::TRACK_DESCRIPTOR, |body| {
                body.varint(track::UUID, uuid).varint(track::PARENT_UUID, parent).string(track::NAME, "round");
                if uuid == 3 {
                    body.message(track::COUNTER, |_| {});
                }
            });
        });
    }
    file.event(5, event::COUNTER, |body| {
        body.varint(event::TRACK_UUID, 3).varint(event::COUNTER_VALUE, 4);
    });
    file.begin(6, 1, 0).end(7, 1);
    let trace = file.read();
    assert_eq!((trace.spans.len(), trace.counters.len()), (1, 1));
}

#[test]
fn a_packet_longer_than_any_is_passed_over_and_the_rest_is_read() {
    let mut good = File::default();
    good.process(1, 7, "p").event(1_000, event::SLICE_BEGIN, |body| {
        body.varint(event::TRACK_UUID, 1).string(event::NAME, "work");
    });
    good.event(2_000, event::SLICE_END, |body| {
        body.varint(event::TRACK_UUID, 1);
    });
    let len = TAKEN_BYTES_MAX + (44 << 20);
    let mut head = Encoder::default();
    head.raw_varint(u64::from(schema::PACKET) << 3 | 2);
    head.raw_varint(len);
    let file = head.bytes().chain(std::io::repeat(0).take(len)).chain(good.0.bytes());
    let trace = read(std::io::BufReader::new(file), &ReadOptions::default()).unwrap();
    assert_eq!(trace.spans.len(), 1);
    assert_eq!(trace.provenance.problems.count(ProblemKind::TooLong), 1);
}
