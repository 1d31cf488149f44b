//! Four threads that hand work on to one another, recorded and written in every format:
//! `cargo run --release --example record_threads -- DIRECTORY` (without one, the system's place for temporary files).
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use rankscope_record::{
    Category, FlowStage, Scope, Session, SessionOptions, counter_i64, flow, intern, record_function, record_op, set_metadata,
    set_thread_name,
};

const BATCHES: u64 = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let session = Session::start(SessionOptions::default())?;
    set_metadata("model", "\"four threads\"");
    let (to_decode, batches) = mpsc::channel();
    let (to_train, decoded) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| decode(batches, to_train));
        scope.spawn(|| train(decoded));
        scope.spawn(watch);
        read(to_decode);
    });

    let stopped = session.stop()?;
    for thread in &stopped.report.threads {
        println!("{:>8}: {} spans, {} counters, {} points of arrows", thread.name, thread.spans, thread.counters, thread.flows);
    }
    let clock = &stopped.report.clock;
    println!("{} events lost; ticks of {}, {} anchors", stopped.report.dropped(), clock.tick_source, clock.anchors);
    for name in ["threads.rkr", "threads.json.gz", "threads.pftrace", "threads.xplane.pb"] {
        let path = directory.join(name);
        stopped.recorded.save(&path)?;
        println!("{}: {} bytes", path.display(), path.metadata()?.len());
    }
    Ok(())
}

fn read(to_decode: Sender<u64>) {
    set_thread_name("reader");
    let arrow = intern("batch", Category::USER_ANNOTATION, Scope::UserScope);
    for batch in 0..BATCHES {
        let _span = record_function!("read batch", batch = batch);
        black_box(work(batch, 2000));
        flow(arrow, batch, FlowStage::Start);
        let _ = to_decode.send(batch);
    }
}

fn decode(batches: Receiver<u64>, to_train: Sender<u64>) {
    set_thread_name("decoder");
    let arrow = intern("batch", Category::USER_ANNOTATION, Scope::UserScope);
    for batch in batches {
        let _span = record_function!("decode batch", batch = batch);
        flow(arrow, batch, FlowStage::Step);
        black_box(work(batch, 4000));
        let _ = to_train.send(batch);
    }
}

fn train(decoded: Receiver<u64>) {
    set_thread_name("trainer");
    let arrow = intern("batch", Category::USER_ANNOTATION, Scope::UserScope);
    let waiting = intern("trained batches", Category::USER_ANNOTATION, Scope::UserScope);
    for batch in decoded {
        let _step = record_function!("train step", batch = batch);
        flow(arrow, batch, FlowStage::End);
        for layer in 0..3 {
            let _op = record_op!("aten::mm", layer = layer, rows = 64, columns = 64);
            black_box(work(batch + layer, 3000));
        }
        counter_i64(waiting, batch as i64 + 1);
    }
}

/// A thread that only looks now and then.
fn watch() {
    set_thread_name("watcher");
    for round in 0..10 {
        let _span = record_function!("look around", round = round);
        black_box(work(round, 1000));
    }
}

fn work(seed: u64, rounds: u64) -> u64 {
    (0..rounds).fold(seed, |sum, round| sum.rotate_left(5) ^ round.wrapping_mul(0x9e37_79b9))
}
