//! One rank of the demo, in a process of its own: a training loop as small as one can be that still has all its parts.
//!
//! It loads a batch (that is, waits), goes forward and back through its layers, has their gradients summed over all ranks while
//! it goes on, and applies them; the ranks tell each other their losses after every step. It knows nothing of any truth: it
//! records itself like any program, on a clock it believes in.

use std::io::{BufRead, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rankscope_clock::Rng;
use rankscope_record::{
    SessionOptions, begin_step, join_run_with, record_function, record_op, set_host_name, set_process_name, set_thread_name,
};

use super::clocks;
use super::comm::{Answer, Ask, Comm};
use super::ring::Ring;
use super::work::Layer;

/// Play a rank of `rankscope demo`, which starts it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Products of a layer's forward pass
    #[arg(long)]
    products: u32,
    /// How long to train; what rank 0 says counts
    #[arg(long)]
    seconds: f64,
    /// Where chance comes from
    #[arg(long)]
    seed: u64,
    /// How this host's clock is bent
    #[arg(long)]
    clock: String,
    /// True host time minus CLOCK_MONOTONIC_RAW
    #[arg(long)]
    clock_shift_ns: i64,
}

/// Layers of the model. Each has a forward pass, and a backward pass of twice the work.
pub(super) const LAYERS: usize = 4;

/// Products of a whole step for each of a layer's forward pass.
pub(super) const PASSES: u32 = 3 * LAYERS as u32;

/// Gradients of a layer, for each rank.
const GRADIENTS: usize = 2_048;

/// Steps between barriers, as for checkpoints.
const BARRIER_EVERY: u64 = 10;

/// Waiting for a batch takes this long, and up to as long again.
const LOADING: Duration = Duration::from_micros(1_500);

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let (rank, ranks) = (number("RANK")?, number("WORLD_SIZE")?);
    ensure!(rank < ranks, "rank {rank} of {ranks}: ranks are numbered from 0");
    let test_clock = Some(clocks::for_recorder(&args.clock, args.clock_shift_ns)?);
    let recording = join_run_with(SessionOptions { test_clock, ..SessionOptions::default() });
    let Some(_recording) = recording else { bail!("rank {rank} has no recording") };
    set_process_name(&format!("rank {rank}"));
    set_host_name(&super::host_name(rank));
    set_thread_name("training");
    let ring = meet(rank, ranks, args.seed)?;
    quit_with_parent()?;
    let comm = Comm::start(ring, ranks)?;
    let trained = Training::new(&args, rank, ranks, &comm).run();
    // The ring knows better than the loop why it broke.
    comm.finish().and(trained)?;
    Ok(ExitCode::SUCCESS)
}

fn number(name: &str) -> Result<u32> {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).with_context(|| format!("{name} is not set to a number"))
}

/// Tells the parent this rank's port, hears those of all, joins the ring, and waits to be told to begin.
fn meet(rank: u32, ranks: u32, seed: u64) -> Result<Ring> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port of the loopback is free")?;
    tell(&listener.local_addr()?.port().to_string())?;
    let ports: Vec<u16> = hear()?.split(' ').map(str::parse).collect::<Result<_, _>>().context("the ports of the ranks")?;
    ensure!(ports.len() == ranks as usize, "{} ports for {ranks} ranks", ports.len());
    let ring = Ring::meet(&listener, rank as usize, &ports, seed)?;
    tell("ready")?;
    hear()?;
    Ok(ring)
}

fn tell(line: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("the demo has gone")
}

fn hear() -> Result<String> {
    let mut line = String::new();
    ensure!(std::io::stdin().lock().read_line(&mut line)? > 0, "the demo has gone");
    Ok(line.trim_end().to_owned())
}

/// Ends this process when its parent ends, however that happens: the pipe between them closes.
fn quit_with_parent() -> Result<()> {
    let watch = || {
        while std::io::stdin().lock().read_line(&mut String::new()).is_ok_and(|bytes| bytes > 0) {}
        std::process::exit(1);
    };
    std::thread::Builder::new().name("parent".to_owned()).spawn(watch).context("there is no thread to watch the parent")?;
    Ok(())
}

struct Training<'a> {
    comm: &'a Comm,
    rank: u32,
    ranks: u32,
    products: u32,
    length: Duration,
    rng: Rng,
    layers: Vec<Layer>,
}

impl<'a> Training<'a> {
    fn new(args: &Args, rank: u32, ranks: u32, comm: &'a Comm) -> Self {
        let (rng, layers) = (Rng::lane(args.seed, 100 + u64::from(rank)), (0..LAYERS as u64).map(Layer::new).collect());
        Self { comm, rank, ranks, products: args.products, length: Duration::from_secs_f64(args.seconds), rng, layers }
    }

    fn run(&mut self) -> Result<()> {
        let begun = Instant::now();
        for step in 0.. {
            let _step = begin_step(step as i64);
            self.load();
            let products = self.rng.around(i64::from(self.products), 8).max(1) as u32;
            self.forward(products);
            self.backward(products);
            self.collect()?;
            self.optimise(products);
            if self.told_to_stop(begun.elapsed() >= self.length)? {
                return Ok(());
            }
            if step % BARRIER_EVERY == BARRIER_EVERY - 1 {
                self.comm.ask(Ask::Barrier);
                self.comm.answer()?;
            }
        }
        Ok(())
    }

    fn load(&mut self) {
        let _span = record_function!("load batch");
        let longer = Duration::from_nanos(self.rng.below(LOADING.as_nanos() as u64));
        std::thread::sleep(LOADING + longer);
    }

    fn forward(&mut self, products: u32) {
        let _span = record_function!("forward");
        for layer in &mut self.layers {
            let _op = record_op!("linear", products = products);
            layer.multiply(products);
        }
    }

    /// The last layer first; its gradients are on their way while the ones before it are computed.
    fn backward(&mut self, products: u32) {
        let _span = record_function!("backward");
        for (at, layer) in self.layers.iter_mut().enumerate().rev() {
            let _op = record_op!("linear_backward", products = 2 * products);
            layer.multiply(2 * products);
            self.comm.ask(Ask::AllReduce(vec![gradient(self.rank, at); GRADIENTS * self.ranks as usize]));
        }
    }

    /// Waits for the gradients, and sees that they are the sum of everybody's.
    fn collect(&mut self) -> Result<()> {
        let _span = record_function!("wait for gradients");
        for at in (0..LAYERS).rev() {
            let Answer::Reduced(sum) = self.comm.answer()? else { bail!("another answer than a sum") };
            let expected: f32 = (0..self.ranks).map(|rank| gradient(rank, at)).sum();
            ensure!(sum.iter().all(|value| *value == expected), "the gradients of layer {at} are not the sum of all ranks'");
        }
        Ok(())
    }

    fn optimise(&mut self, products: u32) {
        let _op = record_op!("optimizer");
        self.layers.iter_mut().for_each(|layer| layer.multiply(products.div_ceil(8)));
    }

    /// Exchanges losses; what rank 0 says about stopping counts for all, so that nobody does a step more.
    fn told_to_stop(&mut self, stop: bool) -> Result<bool> {
        let _span = record_function!("exchange losses");
        let mut own = (self.rng.unit() as f32).to_le_bytes().to_vec();
        own.push(u8::from(stop));
        let each = own.len();
        self.comm.ask(Ask::AllGather(own));
        let Answer::Gathered(all) = self.comm.answer()? else { bail!("another answer than a list") };
        Ok(all.get(each - 1) == Some(&1))
    }
}

/// What a layer's gradients are, all of them: small whole numbers, so that sums are exact in any order.
fn gradient(rank: u32, layer: usize) -> f32 {
    (rank + 1) as f32 * (layer + 1) as f32
}
