//! One rank of a training loop on the processor: layers of arithmetic, a sum over all ranks after each, nothing else.
//!
//! `cargo xtask bench overhead` starts four of them, bare and under `rankscope run`, and reads what each says about itself: how
//! long its steps took and what they cost. `RANK`, `WORLD_SIZE` and `MASTER_PORT` say which rank it is, as any launcher does.
#![expect(clippy::print_stdout, reason = "as a training job does")]

use std::error::Error;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rankscope_record::{join_run, record_function};

const LAYERS: usize = 8;
/// Products of two small matrices in a layer: half a millisecond of arithmetic.
const PRODUCTS: usize = 100;
const SIDE: usize = 32;
/// A product and its two factors.
type Layer = [[[f32; SIDE]; SIDE]; 3];
/// Numbers that are summed over the ranks; so few that they travel in one piece, and a step has always the same system calls.
const GRADIENTS: usize = 256;
/// Steps before those that count.
const WARM_UP: usize = 5;
/// Steps from one line of output to the next.
const SAY_EVERY: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [steps, folder, rest @ ..] = &arguments[..] else {
        println!("usage: RANK=0 WORLD_SIZE=1 MASTER_PORT=29500 train_loop STEPS FOLDER [record]");
        return Ok(());
    };
    let number = |name: &str| -> Result<u64, Box<dyn Error>> { Ok(std::env::var(name)?.parse()?) };
    let (rank, ranks) = (number("RANK")?, number("WORLD_SIZE")?);
    let _run = rest.iter().any(|word| word == "record").then(join_run);
    let mut group = Group::meet(rank, ranks, u16::try_from(number("MASTER_PORT")?)?)?;
    let figures = train(steps.parse()?, &mut group)?;
    std::fs::write(Path::new(folder).join(format!("rank-{rank}.json")), figures)?;
    Ok(())
}

/// The loop itself, when everything that is done once has been done.
fn train(steps: u64, group: &mut Group) -> Result<String, Box<dyn Error>> {
    let mut layer: Layer = [[[0.5; SIDE]; SIDE]; 3];
    let mut gradients = [1.0_f32; GRADIENTS];
    let mut step_ns = Vec::with_capacity(usize::try_from(steps)?);
    (0..WARM_UP).try_for_each(|_| one_step(&mut layer, &mut gradients, group))?;
    let (begun, cpu_before) = (Instant::now(), cpu_s());
    for step in 0..steps {
        let step_begun = Instant::now();
        one_step(&mut layer, &mut gradients, group)?;
        step_ns.push(step_begun.elapsed().as_nanos());
        if step % SAY_EVERY == 0 {
            println!("step {step} sum {}", gradients[0]);
        }
    }
    let (loop_s, cpu_s) = (begun.elapsed().as_secs_f64(), cpu_s() - cpu_before);
    step_ns.sort_unstable();
    let step_ms = step_ns.get(step_ns.len() / 2).map_or(0.0, |&ns| ns as f64 / 1e6);
    Ok(format!("{{\"step_ms\":{step_ms},\"loop_s\":{loop_s},\"cpu_s\":{cpu_s}}}\n"))
}

fn one_step(layer: &mut Layer, gradients: &mut [f32; GRADIENTS], group: &mut Group) -> std::io::Result<()> {
    let _step = record_function!("step");
    for _ in 0..LAYERS {
        {
            let _span = record_function!("layer");
            (0..PRODUCTS).for_each(|_| multiply(layer));
        }
        let _span = record_function!("all_reduce");
        gradients.fill(1.0);
        group.all_reduce(gradients)?;
    }
    Ok(())
}

fn multiply([product, weights, activations]: &mut Layer) {
    black_box(&mut *weights);
    for (row, weights) in product.iter_mut().zip(&*weights) {
        row.fill(0.0);
        for (weight, activations) in weights.iter().zip(&*activations) {
            row.iter_mut().zip(activations).for_each(|(sum, activation)| *sum += weight * activation);
        }
    }
    black_box(product);
}

/// All ranks, of which the first sums for everybody.
struct Group {
    /// To every other rank for the first one, else to the first one.
    peers: Vec<TcpStream>,
    is_first: bool,
}

impl Group {
    fn meet(rank: u64, ranks: u64, port: u16) -> Result<Self, Box<dyn Error>> {
        let mut peers = Vec::new();
        if rank == 0 {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            for _ in 1..ranks {
                peers.push(listener.accept()?.0);
            }
        } else {
            peers.push(connect(port)?);
        }
        peers.iter().try_for_each(|peer| peer.set_nodelay(true))?;
        Ok(Self { peers, is_first: rank == 0 })
    }

    fn all_reduce(&mut self, values: &mut [f32; GRADIENTS]) -> std::io::Result<()> {
        let mut bytes = [0; GRADIENTS * 4];
        if self.is_first {
            for peer in &mut self.peers {
                peer.read_exact(&mut bytes)?;
                values.iter_mut().zip(decoded(&bytes)).for_each(|(sum, value)| *sum += value);
            }
            encode(values, &mut bytes);
            return self.peers.iter_mut().try_for_each(|peer| peer.write_all(&bytes));
        }
        encode(values, &mut bytes);
        for peer in &mut self.peers {
            peer.write_all(&bytes)?;
            peer.read_exact(&mut bytes)?;
        }
        values.iter_mut().zip(decoded(&bytes)).for_each(|(sum, value)| *sum = value);
        Ok(())
    }
}

fn encode(values: &[f32; GRADIENTS], bytes: &mut [u8; GRADIENTS * 4]) {
    bytes.chunks_exact_mut(4).zip(values).for_each(|(bytes, value)| bytes.copy_from_slice(&value.to_le_bytes()));
}

fn decoded(bytes: &[u8; GRADIENTS * 4]) -> impl Iterator<Item = f32> {
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

/// The first rank may come later than the others.
fn connect(port: u16) -> Result<TcpStream, Box<dyn Error>> {
    let begun = Instant::now();
    loop {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            Ok(peer) => return Ok(peer),
            Err(error) if begun.elapsed() > Duration::from_secs(30) => return Err(error.into()),
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Processor time of all threads of this process.
#[expect(unsafe_code, reason = "only the system knows")]
fn cpu_s() -> f64 {
    // SAFETY: rusage is a struct of integers, for which all zeros is a value, and lives as long as the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
