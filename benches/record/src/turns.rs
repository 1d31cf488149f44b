//! Contestants take turns: a process each, one working at a time, round after round.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use rankscope_record::RecordingLayer;

use crate::{floor, layer, memory, ours, rivals};

/// Everybody who takes part, and how many spans make a turn long enough to be timed and short enough to be fair.
pub const CONTESTANTS: [(&str, u64); 29] = [
    ("floor", 200_000),
    ("floor_ticks", 200_000),
    ("off", 2_000_000),
    ("span", 200_000),
    ("next", 200_000),
    ("span_two_args", 200_000),
    ("span_file", 200_000),
    ("span_ring", 200_000),
    ("poll", 200_000),
    ("tracing_alone_off", 2_000_000),
    ("tracing_off", 200_000),
    ("tracing_registry", 200_000),
    ("tracing_on", 100_000),
    ("puffin", 100_000),
    ("fastrace", 100_000),
    ("tracing-chrome", 20_000),
    ("tracing-perfetto", 20_000),
    ("perfetto-recorder", 100_000),
    ("perfetto-recorder_warm", 100_000),
    ("tracy-client", 100_000),
    ("threads_1", 200_000),
    ("threads_2", 200_000),
    ("threads_4", 200_000),
    ("ring_threads_1", 200_000),
    ("ring_threads_2", 200_000),
    ("ring_threads_4", 200_000),
    ("floor_threads_1", 200_000),
    ("floor_threads_2", 200_000),
    ("floor_threads_4", 200_000),
];

/// The nanoseconds one span took, turn by turn: of the thread that recorded it, and of the processor in all threads.
pub struct Samples {
    pub name: &'static str,
    pub span_ns: Vec<f64>,
    pub cpu_ns: Vec<f64>,
}

/// All contestants, `rounds` turns each.
pub fn play(rounds: usize) -> Result<Vec<Samples>> {
    let mut players = CONTESTANTS.iter().map(|&(name, spans)| Player::start(name, spans)).collect::<Result<Vec<_>>>()?;
    for round in 0..=rounds {
        eprintln!("round {round} of {rounds}");
        for player in &mut players {
            let [span_ns, cpu_ns] = player.turn()?;
            // Round 0 faults code and first buffers in.
            if round > 0 {
                player.samples.span_ns.push(span_ns);
                player.samples.cpu_ns.push(cpu_ns);
            }
        }
    }
    players.into_iter().map(Player::finish).collect()
}

struct Player {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    spans: u64,
    samples: Samples,
}

impl Player {
    fn start(name: &'static str, spans: u64) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["turn", name])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("failed to start {name}"))?;
        let asks = child.stdin.take().context("no stdin")?;
        let answers = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(Self { child, asks, answers, spans, samples: Samples { name, span_ns: Vec::new(), cpu_ns: Vec::new() } })
    }

    fn turn(&mut self) -> Result<[f64; 2]> {
        let name = self.samples.name;
        writeln!(self.asks, "{}", self.spans).with_context(|| format!("{name} is gone"))?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        let numbers = answer.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>().unwrap_or_default();
        <[f64; 2]>::try_from(numbers).ok().with_context(|| format!("{name} answered {answer:?}"))
    }

    fn finish(mut self) -> Result<Samples> {
        drop(self.asks);
        self.child.wait()?;
        Ok(self.samples)
    }
}

/// The other side: one turn for every line on stdin.
pub fn take(name: &str) -> Result<()> {
    match name {
        "floor" => serve(floor::turns()),
        "floor_ticks" => serve(floor::ticks_alone()),
        "off" => serve(ours::off()),
        "span" => serve(ours::spans()?),
        "next" => serve(ours::nexts()?),
        "span_two_args" => serve(ours::spans_with_two_args()?),
        "span_file" => serve(ours::spans_to_file()?),
        "span_ring" => serve(ours::spans_in_ring()?),
        "poll" => serve(ours::polls()?),
        "tracing_alone_off" => serve(layer::off(RecordingLayer::new().alone())?),
        "tracing_off" => serve(layer::off(RecordingLayer::new())?),
        "tracing_registry" => serve(layer::registry()?),
        "tracing_on" => serve(layer::on()?),
        "puffin" => serve(rivals::puffin()?),
        "fastrace" => serve(rivals::fastrace()?),
        "tracing-chrome" => serve(rivals::tracing_chrome()?),
        "tracing-perfetto" => serve(rivals::tracing_perfetto()?),
        "perfetto-recorder" => serve(rivals::perfetto_recorder()?),
        "perfetto-recorder_warm" => serve(rivals::perfetto_recorder_warm()?),
        "tracy-client" => serve(rivals::tracy_client()?),
        "threads_1" => serve(ours::together(1)?),
        "threads_2" => serve(ours::together(2)?),
        "threads_4" => serve(ours::together(4)?),
        "ring_threads_1" => serve(ours::together_in_ring(1)?),
        "ring_threads_2" => serve(ours::together_in_ring(2)?),
        "ring_threads_4" => serve(ours::together_in_ring(4)?),
        "floor_threads_1" => serve(crew(1, floor::turns)),
        "floor_threads_2" => serve(crew(2, floor::turns)),
        "floor_threads_4" => serve(crew(4, floor::turns)),
        _ => bail!("nobody is called {name:?}"),
    }
}

fn serve(mut turn: impl FnMut(u64) -> Duration) -> Result<()> {
    for line in std::io::stdin().lock().lines() {
        let spans: u64 = line?.trim().parse()?;
        let before = memory::cpu_ns();
        let took = turn(spans);
        settle();
        let cpu_ns = memory::cpu_ns() - before;
        println!("{} {}", took.as_nanos() as f64 / spans as f64, cpu_ns as f64 / spans as f64);
    }
    Ok(())
}

/// Waits until threads of this process that drain queues have done so, two seconds at most: their work must not fall into
/// the next contestant's turn.
fn settle() {
    let begun = Instant::now();
    let mut before = memory::cpu_ns();
    while begun.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_millis(2));
        let now = memory::cpu_ns();
        if now - before < 200_000 {
            return;
        }
        before = now;
    }
}

/// Threads that live as long as the process and take their turns together. A turn is as long as the slowest of them.
pub fn crew<T: FnMut(u64) -> Duration>(
    threads: usize,
    make: impl Fn() -> T + Send + Clone + 'static,
) -> impl FnMut(u64) -> Duration {
    let start = std::sync::Arc::new(std::sync::Barrier::new(threads));
    let (done, all_done) = std::sync::mpsc::channel();
    let members: Vec<_> = (0..threads)
        .map(|_| {
            let (ask, asked) = std::sync::mpsc::channel::<u64>();
            let (start, done, make) = (start.clone(), done.clone(), make.clone());
            std::thread::spawn(move || {
                let mut turn = make();
                for spans in asked {
                    start.wait();
                    if done.send(turn(spans)).is_err() {
                        return;
                    }
                }
            });
            ask
        })
        .collect();
    move |spans| {
        for member in &members {
            member.send(spans).expect("members live as long as the crew");
        }
        all_done.iter().take(threads).max().unwrap_or_default()
    }
}
