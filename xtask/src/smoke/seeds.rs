//! What mutation starts from: small files of every format, good ones and ones already damaged.
//!
//! Small on purpose. A reader meets its branches in the first kilobytes, and small inputs are read thousands of times a
//! second.

mod texts;

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use rankscope_dispatch::{Batch, Rows, Shard, binary};
use rankscope_formats::recording::{
    ArgView, CHUNK_BYTES, ClockId, Cut, FILE_HEADER_BYTES, LiveAuthor, LiveFile, Recording, packed,
};
use rankscope_formats::wire::Encoder;
use rankscope_formats::{ArgsPolicy, ReadOptions, json, perfetto};
use rankscope_testkit::damage::{self, BadDuration};
use rankscope_testkit::{Dialect, Job};
use rankscope_time::Rank;

pub(crate) use self::texts::{clock_files, inspector, ras, rocprof};
use crate::cargo;

/// Kineto JSON in every dialect, with every damage, and heads of the fixtures.
pub(crate) fn json() -> Vec<Vec<u8>> {
    let job = tiny();
    let mut seeds: Vec<Vec<u8>> = Dialect::all().iter().map(|(_, dialect)| job.rank_bytes(0, dialect)).collect();
    let good = job.rank_bytes(0, &Dialect::default());
    let bad = [BadDuration::Negative, BadDuration::Zero, BadDuration::Overflowed, BadDuration::NotANumber];
    seeds.extend(bad.map(|bad| damage::durations(&good, 3, bad).bytes));
    seeds.push(damage::control_characters(&good, 5).bytes);
    seeds.push(damage::unescaped_quotes(&good, 5).bytes);
    seeds.push(damage::invalid_utf8(&good, 5).bytes);
    for file in fixtures(".json.gz") {
        let inflated = damage::inflatable(&file);
        seeds.push(damage::truncate(&inflated, HEAD_BYTES));
    }
    seeds
}

/// Compressed files, whole and cut: what the readers of containers get.
pub(crate) fn archives() -> Vec<Vec<u8>> {
    let good = tiny().rank_bytes(0, &Dialect::default());
    let mut seeds = vec![damage::gzip(&good), damage::truncated_gzip(&good, 500), good];
    let tar = tar_of(&seeds[2]);
    // An archive in an archive, and one whose end claims members without number.
    let mut boastful = zip_of(&tar);
    let end = boastful.len() - ZIP_END_BYTES;
    boastful[end + 8..end + 16].fill(0xff);
    seeds.extend([damage::gzip(&tar), zip_of(&seeds[2]), zip_of(&tar), boastful, tar]);
    seeds
}

/// Our own timelines, with arguments and without.
pub(crate) fn timelines() -> Vec<Vec<u8>> {
    let good = tiny().rank_bytes(0, &Dialect::default());
    let written = [ArgsPolicy::All, ArgsPolicy::Analysis].map(|args| {
        let trace = json::read(&good[..], &ReadOptions::default().with_args(args)).expect("the testkit writes good traces");
        let mut timeline = Vec::new();
        perfetto::write(&trace, &mut timeline).expect("writing to memory cannot fail");
        timeline
    });
    protobuf().into_iter().chain(written).collect()
}

/// A live recording with one of most things, cut where its words end, and what it is packed.
pub(crate) fn recordings() -> Vec<Vec<u8>> {
    let mut author = LiveAuthor::new().with_chunk_words(64);
    let (name, key) = (author.name("aten::mm", 0, 0), author.name("Input Dims", 0, 0));
    author.meta("rank", "3");
    author.thread(0, 4_000, "main");
    author.session_start(1, 900, u32::MAX);
    for second in 0..3_u64 {
        author.anchor(ClockId::MONOTONIC_RAW, second * 3_000_000_000, second as i64 * 1_000_000_000, 60);
    }
    for number in 0..40_u64 {
        author.begin(0, 1_000 + number * 100, name);
        author.args(0, &[(key, ArgView::Text("[[2, 3]]".into())), (key, ArgView::U64(number))]);
        author.end(0, 1_050 + number * 100);
        author.memory(1, 1_060 + number * 100, number << 20, 512, (1, 0));
        author.async_begin(1, 1_060 + number * 100, name, number);
    }
    author.hand_over(0, 2);
    author.instant(2, 6_000, name);
    author.begin(2, 6_100, name);
    let live = author.finish();
    let recording = LiveFile::open(Cursor::new(&live)).and_then(Recording::open).expect("the author writes good files");
    let mut packed = Vec::new();
    packed::write(&recording, &Cut::everything(), &mut packed).expect("writing to memory cannot fail");
    // The words of the system's chunk and of the first events lie in the front of their chunks; the rest is zeros.
    let system = live[..FILE_HEADER_BYTES + (2 << 10)].to_vec();
    let first = live[..FILE_HEADER_BYTES + CHUNK_BYTES + (1 << 10)].to_vec();
    vec![packed::laid_bare(&packed), packed, system, first]
}

/// The part of a rank of the testkit, with and without checks, its blocks as they are so that they can be changed, and columns of every codec.
pub(crate) fn parts() -> Vec<Vec<u8>> {
    let part = include_bytes!("../../../crates/rankscope-part-files/tests/golden/schema-1.rkpart");
    let checked = include_bytes!("../../../crates/rankscope-part-files/tests/golden/schema-1-checked.rkpart");
    let mut alone = rankscope_part_files::ColumnsWriter::default();
    alone.unsigned(&[1, 1 << 40]);
    alone.signed(&[-1, 1 << 40]);
    alone.sorted(&[-5, 7, 7]);
    alone.intervals(&[(1_790_857_026_000_000_000, 1_790_857_026_000_000_900), (1_790_857_026_000_001_000, i64::MAX)]);
    alone.enums(&[0, 3]);
    alone.bits(&[true, false, true]);
    alone.strings(["gemm", "all_reduce", "gemm"]);
    alone.wide(&[1 << 100]);
    vec![part.to_vec(), checked.to_vec(), alone.into_bytes().expect("the columns are in order")]
}

/// What a ZIP archive without a comment ends with.
const ZIP_END_BYTES: usize = 22;

fn tar_of(trace: &[u8]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(trace.len() as u64);
    archive.append_data(&mut header, "rank0.json", trace).expect("writing to memory cannot fail");
    archive.into_inner().expect("writing to memory cannot fail")
}

fn zip_of(trace: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    archive.start_file("rank0.json", zip::write::SimpleFileOptions::default()).expect("a good name");
    archive.write_all(trace).expect("writing to memory cannot fail");
    archive.finish().expect("writing to memory cannot fail").into_inner()
}

/// An XSpace and a Perfetto trace of one event each, and whatever fixtures there are.
pub(crate) fn protobuf() -> Vec<Vec<u8>> {
    // Lengths that no file has, first of all and inside.
    let claim = |field: u8| [&[field << 3 | 2][..], &[0xff; 8], &[0x7f]].concat();
    let inside = [claim(1), claim(3), claim(4), xspace()].concat();
    let mut seeds = vec![xspace(), perfetto(), claim(1), inside];
    seeds.extend(fixtures(".pb").into_iter().chain(fixtures(".pftrace")).map(|file| damage::truncate(&file, HEAD_BYTES)));
    seeds
}

fn tiny() -> Job {
    Job { ranks: 1, steps: 1, layers: 1, ops_per_step: 2, python_frames: 1, odd_names: true, ..Job::default() }
}

/// Field numbers of xplane.proto: a plane with a line, an event with a statistic, and their names.
fn xspace() -> Vec<u8> {
    let mut space = Encoder::default();
    space.message(1, |plane| {
        plane.varint(1, 1).string(2, "/device:GPU:0");
        plane.message(3, |line| {
            line.varint(1, 7).string(2, "Stream #7").varint(3, 1_790_857_026_000_000_000);
            line.message(4, |event| {
                event.varint(1, 3).varint(2, 5_000).varint(3, 9_000).message(4, |stat| {
                    stat.varint(1, 4).varint(3, 42);
                });
            });
        });
        for (map, id, name) in [(4, 3, "fusion"), (5, 4, "correlation_id")] {
            plane.message(map, |entry| {
                entry.varint(1, id).message(2, |metadata| {
                    metadata.varint(1, id).string(2, name);
                });
            });
        }
    });
    space.bytes().to_vec()
}

/// Field numbers of Perfetto's trace_packet.proto: a thread's track, and a slice's begin and end on it.
fn perfetto() -> Vec<u8> {
    let mut trace = Encoder::default();
    trace.message(1, |packet| {
        packet.varint(10, 1).varint(13, 1).message(60, |track| {
            track.varint(1, 99).message(4, |thread| {
                thread.varint(1, 4_000).varint(2, 4_005).string(5, "main");
            });
        });
    });
    for (at_ns, kind) in [(1_000, 1), (2_500, 2)] {
        trace.message(1, |packet| {
            packet.varint(8, at_ns).varint(10, 1).message(11, |event| {
                event.varint(9, kind).varint(11, 99).string(23, "aten::mm");
            });
        });
    }
    trace.bytes().to_vec()
}

/// Python's pickles of plain data, and some that have to be refused.
pub(crate) fn pickles() -> Vec<Vec<u8>> {
    let mut seeds = fixtures(".pickle");
    seeds.retain(|bytes| bytes.len() <= HEAD_BYTES);
    seeds
}

/// A dump of torch's flight recorder with a collective, a message and what the watchdog counts, and pickles of something else.
pub(crate) fn flight_recorder() -> Vec<Vec<u8>> {
    let dump = r#"{"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
        "pg_status": {"0": {"last_enqueued_collective": "2", "last_completed_collective": "1"}}, "entries": [
        {"process_group": ["0", "default_pg"], "pg_id": 0, "collective_seq_id": 2, "profiling_name": "nccl:all_reduce", "time_created_ns": 5,
         "input_sizes": [[4, 5]], "output_sizes": [[4, 5]], "input_dtypes": ["Float"], "state": "scheduled", "retired": false, "is_p2p": false},
        {"process_group": ["0", "default_pg"], "pg_id": 0, "profiling_name": "nccl:send 0->1", "time_created_ns": 6, "is_p2p": true,
         "frames": [{"name": "step", "filename": "train.py", "line": 7}], "state": "started"}]}"#;
    [pickles(), vec![dump.as_bytes().to_vec()]].concat()
}

/// Files of the repository's fixtures whose names end so; none where the folder is missing.
fn fixtures(suffix: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    collect(&cargo::root().join("fixtures"), suffix, &mut found);
    // The order of a directory is the file system's; the run's inputs must not depend on it.
    found.sort();
    found
}

fn collect(folder: &Path, suffix: &str, found: &mut Vec<Vec<u8>>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect(&path, suffix, found);
        } else if path.to_string_lossy().ends_with(suffix) {
            found.extend(fs::read(&path));
        }
    }
}

/// Enough of a large fixture to hold its header and a few dozen events.
const HEAD_BYTES: usize = 32 << 10;

/// Plans in their compact form: a few documents, and none.
pub(crate) fn plans() -> Vec<Vec<u8>> {
    let shard = |linear, attention, tokens| Shard { linear: Rank(linear), attention: Rank(attention), tokens };
    let mut batch = Batch::new(300).expect("there are ranks");
    let empty = binary::encode(&batch, &Rows::LLAMA_8B);
    for document in 0..5 {
        batch.push(&[shard(document, 299 - document, 128), shard(document, document, 70_000)]).expect("the ranks exist");
    }
    vec![binary::encode(&batch, &Rows::LLAMA_8B), empty]
}

/// Heads of what benchmarks of networks print, with numbers that are made up.
pub(crate) fn network_benchmarks() -> Vec<Vec<u8>> {
    let nccl = "# nThread 1 nGpus 8 minBytes 8 maxBytes 1024\n# out-of-place in-place\n# size count type redop root time algbw busbw #wrong\n\
                1048576 262144 float sum -1 65.2 16.1 28.1 0 64.9 16.2 28.3 0\n8388608 2097152 float sum -1 140.0 59.9 104.9 0 139.1 60.3 105.5 0\n";
    let osu = "# OSU MPI All-to-Allv Personalized Exchange Latency Test v7.4\n# Size Avg Latency(us)\n1024 12.50\n65536 98.10\n1048576 1400.2\n";
    vec![nccl.as_bytes().to_vec(), osu.as_bytes().to_vec()]
}
