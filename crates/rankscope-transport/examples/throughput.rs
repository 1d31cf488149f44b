//! Gigabytes per second of a uniform all-to-all, beside the floor of the machine and beside MPI called directly.
//!
//! `cargo run --release -p rankscope-transport --example throughput` measures threads, and the same bytes copied by the same
//! threads without any protocol. Built with `--features mpi`, `mpirun -n 8 target/release/examples/throughput --backend mpi`
//! measures processes, and `MPI_Alltoallv` on the same buffers without anything of ours.

use std::error::Error;
use std::io::{self, Write};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use rankscope_dispatch::{Message, RankExchange};
use rankscope_time::Rank;
use rankscope_transport::{Threads, Transport, TransportError};

#[derive(Parser)]
struct Args {
    #[arg(long, default_value = "threads")]
    backend: Backend,
    /// How MPI moves the bytes.
    #[arg(long, default_value = "alltoallv")]
    mode: Mode,
    /// Threads to run. Under mpirun there are as many ranks as processes.
    #[arg(long, default_value_t = 4)]
    ranks: u32,
    /// Bytes from each rank to each, itself included.
    #[arg(long, value_delimiter = ',', default_values_t = [4096, 65_536, 524_288])]
    bytes: Vec<u64>,
    /// The fastest of so many counts.
    #[arg(long, default_value_t = 7)]
    repeat: u32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Backend {
    Threads,
    Mpi,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    Alltoallv,
    Put,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    match args.backend {
        Backend::Threads => threads(&args),
        Backend::Mpi => mpi(&args),
    }
}

fn threads(args: &Args) -> Result<(), Box<dyn Error>> {
    for &bytes in &args.bytes {
        let floor = on_threads(args, bytes, |_, send, receive| {
            receive.copy_from_slice(send);
            Ok(())
        })?;
        let put = on_threads(args, bytes, |end: &mut Threads, send, receive| {
            let exchange = uniform(end.rank(), args.ranks, bytes);
            end.all_to_all(&exchange, send, receive)
        })?;
        say(args.ranks, bytes, &[("memcpy", floor), ("threads, put", put)])?;
    }
    Ok(())
}

/// The fastest repetition of what every rank does to its buffers, from when the first begins until the last is done.
fn on_threads(
    args: &Args,
    bytes: u64,
    work: impl Fn(&mut Threads, &[u8], &mut [u8]) -> Result<(), TransportError> + Sync,
) -> Result<Duration, TransportError> {
    let together = Barrier::new(args.ranks as usize);
    let rank = |mut end: Threads| {
        let (send, mut receive) = buffers(args.ranks, bytes);
        let time = |_| {
            together.wait();
            let begun = Instant::now();
            work(&mut end, &send, &mut receive)?;
            Ok((begun, Instant::now()))
        };
        (0..args.repeat).map(time).collect::<Result<Vec<_>, TransportError>>()
    };
    let times = thread::scope(|scope| {
        let rank = &rank;
        let spawn = |end| scope.spawn(move || rank(end));
        let threads: Vec<_> = Threads::job(args.ranks, PATIENCE).into_iter().map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().expect("nothing here panics")).collect::<Result<Vec<_>, _>>()
    })?;
    let wall = |repetition: usize| {
        let of_ranks = times.iter().map(|times| times[repetition]);
        let (first, last) = of_ranks.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(last - first)
    };
    Ok((0..args.repeat as usize).filter_map(wall).min().unwrap_or_default())
}

#[cfg(feature = "mpi")]
fn mpi(args: &Args) -> Result<(), Box<dyn Error>> {
    use mpi::datatype::{Partition, PartitionMut};
    use mpi::traits::CommunicatorCollectives;
    use rankscope_transport::execute::Timing;
    use rankscope_transport::mpi::{Mode as MpiMode, Mpi};

    type Work<'a> = dyn FnMut(&mut Mpi, &mut [u8]) -> Result<(), TransportError> + 'a;

    let (mode, name) = match args.mode {
        Mode::Alltoallv => (MpiMode::Alltoallv, "alltoallv by plan"),
        Mode::Put => (MpiMode::Put, "put with signal"),
    };
    let mut end = Mpi::start(mode)?;
    let world = mpi::topology::SimpleCommunicator::world();
    let ranks = end.world_size();
    for &bytes in &args.bytes {
        let exchange = uniform(end.rank(), ranks, bytes);
        let (send, mut receive) = buffers(ranks, bytes);
        let counts = vec![i32::try_from(bytes)?; ranks as usize];
        let places = (0..ranks as i32).map(|peer| peer * counts[0]).collect::<Vec<_>>();

        let mut fastest = |work: &mut Work<'_>| {
            let mut best = Duration::MAX;
            for _ in 0..args.repeat {
                end.barrier()?;
                let begun = Instant::now();
                work(&mut end, &mut receive)?;
                // With more processes than cores one may be done before another has begun.
                end.barrier()?;
                let own = Timing { exchange: begun.elapsed(), ..Timing::default() };
                best = best.min(end.slowest(own).exchange);
            }
            Ok::<_, TransportError>(best)
        };
        let floor = fastest(&mut |_, receive| {
            receive.copy_from_slice(&send);
            Ok(())
        })?;
        let direct = fastest(&mut |_, receive| {
            let from = Partition::new(&send, &counts[..], &places[..]);
            world.all_to_all_varcount_into(&from, &mut PartitionMut::new(receive, &counts[..], &places[..]));
            Ok(())
        })?;
        let ours = fastest(&mut |end, receive| end.all_to_all(&exchange, &send, receive))?;
        if end.rank().0 == 0 {
            say(ranks, bytes, &[("memcpy", floor), ("MPI_Alltoallv", direct), (name, ours)])?;
        }
    }
    Ok(())
}

#[cfg(not(feature = "mpi"))]
fn mpi(args: &Args) -> Result<(), Box<dyn Error>> {
    let mode = args.mode.to_possible_value().map_or(String::new(), |mode| mode.get_name().to_owned());
    Err(format!("this example was built without MPI, so there is no {mode}; build it with --features mpi").into())
}

fn uniform(rank: Rank, ranks: u32, bytes: u64) -> RankExchange {
    let place = |rank: Rank| u64::from(rank.0) * bytes;
    let message = |peer| Message { peer, at: place(peer), peer_at: place(rank), bytes };
    let messages: Vec<Message> = (0..ranks).map(Rank).map(message).collect();
    RankExchange {
        rank,
        sends: messages.clone(),
        receives: messages,
        send_bytes: u64::from(ranks) * bytes,
        receive_bytes: u64::from(ranks) * bytes,
        input_rows: Vec::new(),
        output_rows: Vec::new(),
        pack: Vec::new(),
        unpack: Vec::new(),
        sums_before: Vec::new(),
        sums_after: Vec::new(),
    }
}

fn buffers(ranks: u32, bytes: u64) -> (Vec<u8>, Vec<u8>) {
    let bytes = (u64::from(ranks) * bytes) as usize;
    (vec![1; bytes], vec![2; bytes])
}

fn say(ranks: u32, bytes: u64, times: &[(&str, Duration)]) -> io::Result<()> {
    let moved = u64::from(ranks).pow(2) * bytes;
    write!(io::stdout(), "{ranks} ranks, {bytes:8} bytes a pair:")?;
    for (name, time) in times {
        let rate = moved as f64 / time.as_secs_f64().max(1e-9) / 1e9;
        write!(io::stdout(), "  {name} {rate:.2} GB/s ({time:.1?})")?;
    }
    writeln!(io::stdout())
}

const PATIENCE: Duration = Duration::from_secs(60);
