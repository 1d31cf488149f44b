//! Runs a plan on the GPUs of this machine, compares every byte with the simulator, and says what each kernel moves per second,
//! beside the driver's own copy of the same bytes:
//!
//! `cargo run --release -p rankscope-transport --features cuda --example cuda_figures [RANKS] [MIB]`
//!
//! Several ranks share a card where there are more ranks than cards. Without the feature, a driver or a card it says so.
#![expect(clippy::print_stdout, reason = "an example talks")]

#[cfg(not(feature = "cuda"))]
fn main() {
    println!("this is an example of the feature `cuda`: add `--features cuda`, on a machine with a GPU");
}

#[cfg(feature = "cuda")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    gpu::main()
}

#[cfg(feature = "cuda")]
mod gpu {
    use std::error::Error;
    use std::time::Duration;

    use rankscope_dispatch::movement::ElementType;
    use rankscope_dispatch::{Batch, Rows, Shard};
    use rankscope_time::Rank;
    use rankscope_transport::cuda::{self, CudaError, Figure};
    use rankscope_transport::execute::Trial;

    pub(super) fn main() -> Result<(), Box<dyn Error>> {
        match cuda::discover() {
            Ok(found) => found.iter().for_each(|device| println!("{device}")),
            Err(error @ (CudaError::NoLibrary { .. } | CudaError::NoDevice)) => {
                println!("nothing to measure: {error}");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        let mut arguments = std::env::args().skip(1);
        let ranks = arguments.next().map_or(Ok(8), |ranks| ranks.parse())?;
        let mib: u64 = arguments.next().map_or(Ok(256), |mib| mib.parse())?;
        layer(ranks)?;
        kernels(mib << 20)
    }

    /// The four exchanges of a layer of Llama 8B: every rank holds 1,024 tokens of one document and computes those of another
    /// rank, so that nearly everything travels.
    fn layer(ranks: u32) -> Result<(), Box<dyn Error>> {
        let mut batch = Batch::new(ranks)?;
        for group in 0..ranks.div_ceil(GROUP) {
            let members = (group * GROUP..ranks).take(GROUP as usize);
            let shard = |rank| Shard { linear: Rank(rank), attention: Rank((rank + 1) % ranks), tokens: 1024 };
            batch.push(&members.map(shard).collect::<Vec<_>>())?;
        }
        let trial = Trial::new(&batch, &Rows::LLAMA_8B, ElementType::Bf16, 5, 1)?;
        println!("\n{ranks} ranks, four exchanges of a layer, five times; every byte is the simulator's:");
        for outcome in trial.run_threads(cuda::job(ranks, PATIENCE)?)? {
            let median = outcome.median(|timing| timing.exchange);
            let rate = outcome.remote_bytes as f64 / median.as_secs_f64() / 1e9;
            let (direction, mib) = (outcome.direction.as_str(), outcome.remote_bytes >> 20);
            println!("{direction:>16}  {:>5} messages  {mib:>6} MiB  {median:>10.1?}  {rate:>7.1} GB/s", outcome.messages);
        }
        Ok(())
    }

    fn kernels(bytes: u64) -> Result<(), Box<dyn Error>> {
        let cards = cuda::open(1)?;
        let card = cards.first().ok_or("no card")?;
        for row_bytes in [16_384, 8_192, 2_048, 2_056] {
            println!("\nrows of {row_bytes} bytes, {} MiB:", bytes >> 20);
            let figures = cuda::figures(card, row_bytes, bytes, 20)?;
            let copy = figures.first().map_or(f64::NAN, Figure::bytes_per_second);
            for figure in figures {
                let rate = figure.bytes_per_second();
                println!(
                    "{:>16}  {:>10.1?}  {:>7.1} GB/s  {:>5.2} of memcpy",
                    figure.name,
                    figure.time,
                    rate / 1e9,
                    rate / copy
                );
            }
        }
        Ok(())
    }

    const GROUP: u32 = 4;
    const PATIENCE: Duration = Duration::from_secs(30);
}
