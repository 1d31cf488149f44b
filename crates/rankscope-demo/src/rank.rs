//! One rank of the demo, in a process of its own: a training loop as small as one can be that still has all its parts.
//!
//! It loads a batch (that is, waits) and goes forward and back through layers that are spread over all ranks, so that after
//! each of them activations or gradients are summed up; the ranks tell each other their losses after every step. It knows
//! nothing of any truth: it records itself like any program, on a clock it believes in.

use std::io::{BufRead, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use rankscope_clock::Rng;
use rankscope_record::plugins::Registry;
use rankscope_record::{
    Category, Scope, SessionOptions, begin_step, join_run_with, record_function, record_op, set_host_name, set_process_name,
    set_thread_name, span_at,
};

use crate::clocks;
use crate::comm::Comm;
use crate::error::Error;
use crate::hosts::host_name;
use crate::plan::STILL_FROM;
use crate::random::Stream;
use crate::ring::Ring;
use crate::slow::Slowness;
use crate::task::RankTask;
use crate::work::Layer;

/// How a rank's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trained {
    /// To the end, recorded.
    Recorded,
    /// Not at all: it could not be recorded, and the recorder has said why.
    NotRecorded,
}

/// Layers of the model. Each has a forward pass, and a backward pass of twice the work.
pub(crate) const LAYERS: usize = 3;

/// Products of a whole step for each of a layer's forward pass.
pub(crate) const PASSES: u32 = 3 * LAYERS as u32;

/// Exchanges of a step with each other rank: two for the sum of each layer, forward and back, and one for the losses.
pub(crate) const EXCHANGES_FOR_EACH_RANK: u32 = 2 * 2 * LAYERS as u32 + 1;

/// Activations of a layer, and as many gradients, for each rank.
const ELEMENTS: usize = 512;

/// How long a neighbour that does not stand still may take to answer: on a busy machine much longer than the usual milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Steps between barriers, as for checkpoints.
const BARRIER_EVERY: i64 = 10;

/// Waiting for a batch takes this long, and up to as long again.
const LOADING: Duration = Duration::from_micros(1_500);

/// Trains as one rank of a demo: `RANK` of `WORLD_SIZE`, told by its standard input where the others are.
///
/// # Errors
/// Where the demo or a neighbour is gone, or a collective comes to a wrong result.
pub fn train(task: &RankTask) -> Result<Trained, Error> {
    let (rank, ranks) = (number("RANK")?, number("WORLD_SIZE")?);
    if rank >= ranks {
        return Err(Error::RankOutOfRange { rank, ranks });
    }
    let test_clock = Some(clocks::for_recorder(&task.clock, task.clock_shift_ns)?);
    let recording = join_run_with(SessionOptions::default().with_test_clock(test_clock), Registry::new());
    let Some(_recording) = recording else { return Ok(Trained::NotRecorded) };
    set_process_name(&format!("rank {rank}"));
    set_host_name(&host_name(rank));
    set_thread_name("training");
    let mut ring = meet(task, rank, ranks)?;
    if let Some(Slowness::Sending(late)) = task.slowness {
        ring.late = late;
    }
    Training::new(task, rank, ranks, Comm::new(ring, ranks)).run()?;
    Ok(Trained::Recorded)
}

/// What a program does besides its operators: half of it in a function that is recorded, half where nothing is.
fn other_work(time: Duration) {
    {
        let _function = span_at!("log_metrics", Category::PYTHON_FUNCTION, Scope::Function);
        std::thread::sleep(time / 2);
    }
    std::thread::sleep(time / 2);
}

fn number(name: &'static str) -> Result<u32, Error> {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).ok_or(Error::Variable { name })
}

/// Tells the parent where this rank listens, hears where all do, joins the ring, and waits to be told to begin.
fn meet(task: &RankTask, rank: u32, ranks: u32) -> Result<Ring, Error> {
    let address = task.address;
    let listener = TcpListener::bind((address, 0)).map_err(|reason| Error::NoPort { address, reason })?;
    tell(&listener.local_addr()?.to_string())?;
    let all: Vec<SocketAddr> = hear()?.split(' ').map(str::parse).collect::<Result<_, _>>().map_err(Error::Addresses)?;
    if all.len() != ranks as usize {
        return Err(Error::AddressCount { addresses: all.len(), ranks });
    }
    // A neighbour may stand still for as long as the training takes.
    let patience = PATIENCE + Duration::from_secs_f64(task.seconds);
    let ring = Ring::meet(&listener, rank as usize, &all, task.seed, patience)?;
    tell("ready")?;
    hear()?;
    Ok(ring)
}

fn tell(line: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).map_err(|reason| Error::Gone(Some(reason)))
}

fn hear() -> Result<String, Error> {
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line)? == 0 {
        return Err(Error::Gone(None));
    }
    Ok(line.trim_end().to_owned())
}

struct Training {
    comm: Comm,
    rank: u32,
    ranks: u32,
    products: u32,
    slowness: Option<Slowness>,
    length: Duration,
    stands_still: bool,
    rng: Rng,
    layers: Vec<Layer>,
    /// What is summed up over the ranks.
    shared: Vec<f32>,
}

impl Training {
    fn new(task: &RankTask, rank: u32, ranks: u32, comm: Comm) -> Self {
        Self {
            comm,
            rank,
            ranks,
            products: task.products,
            slowness: task.slowness,
            length: Duration::from_secs_f64(task.seconds),
            stands_still: task.stands_still,
            rng: Stream::Training { rank }.of(task.seed),
            layers: (0..LAYERS as u64).map(Layer::new).collect(),
            shared: vec![0.0; ELEMENTS * ranks as usize],
        }
    }

    fn run(&mut self) -> Result<(), Error> {
        let begun = Instant::now();
        for step in 0.. {
            let _step = begin_step(step);
            self.load(begun);
            let products = self.rng.around(i64::from(self.products), 8).max(1) as u32;
            self.forward(products)?;
            self.backward(products)?;
            self.optimise(products);
            if self.told_to_stop(begun.elapsed() >= self.length)? {
                break;
            }
            if step % BARRIER_EVERY == BARRIER_EVERY - 1 {
                self.comm.barrier()?;
            }
        }
        Ok(())
    }

    fn load(&mut self, begun: Instant) {
        let _span = record_function!("load batch");
        if self.stands_still && begun.elapsed() >= STILL_FROM {
            std::thread::sleep(self.length.saturating_sub(begun.elapsed()));
        }
        let longer = Duration::from_nanos(self.rng.below(LOADING.as_nanos() as u64));
        let slow = match self.slowness {
            Some(Slowness::Loading(time)) => time,
            _ => Duration::ZERO,
        };
        std::thread::sleep(LOADING + longer + slow);
    }

    fn forward(&mut self, products: u32) -> Result<(), Error> {
        let _span = record_function!("forward");
        let products = match self.slowness {
            Some(Slowness::Forward(times)) => (f64::from(products) * times).ceil() as u32,
            _ => products,
        };
        for at in 0..LAYERS {
            {
                let _op = record_op!("linear", products = products);
                self.layers[at].multiply(products);
            }
            if let Some(Slowness::OtherWork(time)) = self.slowness {
                other_work(time);
            }
            self.sum_up(at)?;
        }
        Ok(())
    }

    fn backward(&mut self, products: u32) -> Result<(), Error> {
        let _span = record_function!("backward");
        for at in (0..LAYERS).rev() {
            {
                let _op = record_op!("linear_backward", products = 2 * products);
                self.layers[at].multiply(2 * products);
            }
            self.sum_up(at)?;
        }
        Ok(())
    }

    /// Sums up what all ranks have of a layer, and sees that it is the sum.
    fn sum_up(&mut self, layer: usize) -> Result<(), Error> {
        // Small whole numbers, so that their sum is exact in any order.
        let value = |rank: u32| (rank + 1) as f32 * (layer + 1) as f32;
        self.shared.fill(value(self.rank));
        self.comm.all_reduce(&mut self.shared)?;
        let expected: f32 = (0..self.ranks).map(value).sum();
        if self.shared.iter().any(|value| *value != expected) {
            return Err(Error::WrongSum { layer });
        }
        Ok(())
    }

    fn optimise(&mut self, products: u32) {
        let _op = record_op!("optimizer");
        self.layers.iter_mut().for_each(|layer| layer.multiply(products.div_ceil(4)));
    }

    /// Exchanges losses; what rank 0 says about stopping counts for all, so that nobody does a step more.
    fn told_to_stop(&mut self, stop: bool) -> Result<bool, Error> {
        let mut own = (self.rng.unit() as f32).to_le_bytes().to_vec();
        own.push(u8::from(stop));
        let of_first = own.len() - 1;
        let all = self.comm.all_gather(&own)?;
        Ok(all.get(of_first) == Some(&1))
    }
}
