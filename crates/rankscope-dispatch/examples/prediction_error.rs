//! How far predictions are off, and how much ranks idle without a plan: the figures of docs/explanation/dispatch-prediction.md.

#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use rankscope_dispatch::events::{Machine, Microbatch, Passes, Step, Wire, play};
use rankscope_dispatch::network::Preset;
use rankscope_dispatch::network::calibrate::{Operation, calibrate, read};
use rankscope_dispatch::planner::place_on_ranks;
use rankscope_dispatch::{Error, Rows, TorchRandom};

fn main() -> Result<(), Error> {
    println!("{:32} {:>5} {:>12} {:>12} {:>16}", "times", "rows", "fitted mean", "worst", "held out, worst");
    let mut random = TorchRandom::new(0);
    for (name, alpha_us, gigabytes, percent) in [
        ("8 x 51 us, 428 GB/s, noise 2 %", 51.0, 428.0, 2.0),
        ("8 x 51 us, 428 GB/s, noise 5 %", 51.0, 428.0, 5.0),
        ("8 x 67 us, 266 GB/s, noise 5 %", 67.0, 266.0, 5.0),
    ] {
        let mut noise = || 1.0 + percent / 100.0 * (2.0 * f64::from(random.uniform()) - 1.0);
        let rows = (23..34).map(|power| (1_u64 << power, (alpha_us + (1_u64 << power) as f64 / 1e3 / gigabytes) * noise()));
        error(name, rows.collect(), 8)?;
    }
    // As told in issue 78 of nccl-tests: all_reduce_perf on 16 nodes of 16 GPUs, the faster of both columns.
    let measured = [1458.1, 2659.1, 4263.8, 7615.2, 14383.0, 29411.0];
    error("256 GPUs, measured", (25..).map(|power| 1_u64 << power).zip(measured).collect(), 256)?;
    println!("\n{:>6} {:>28}", "ranks", "idle without a plan, 32 draws");
    for world in [2, 4, 8, 16, 32] {
        let mut idle = Vec::new();
        for _ in 0..32 {
            idle.push(idle_share(&mut random, world)?);
        }
        idle.sort_by(f64::total_cmp);
        println!("{world:>6} {:>11.0} % ({:.0} to {:.0} %)", 100.0 * idle[16], 100.0 * idle[2], 100.0 * idle[29]);
    }
    Ok(())
}

fn error(name: &str, rows: Vec<(u64, f64)>, ranks: u32) -> Result<(), Error> {
    let mut text = "# size count type time algbw busbw #wrong\n".to_owned();
    for (bytes, micros) in rows {
        text.push_str(&format!("{bytes} 1 float {micros:.2} 0 0 0\n"));
    }
    let samples = read(&text, Some(Operation::AllReduce), Some(ranks))?;
    let fit = calibrate(&samples.rows)?;
    let held_out = fit.held_out.map_or(f64::NAN, |errors| 100.0 * errors.worst);
    let (mean, worst) = (100.0 * fit.fitted.mean, 100.0 * fit.fitted.worst);
    println!("{name:32} {:>5} {mean:>10.1} % {worst:>10.1} % {held_out:>14.1} %", fit.fitted.rows);
    Ok(())
}

/// What a layer loses to imbalance where every rank has 128 K tokens of documents between 512 and 128 K.
fn idle_share(random: &mut TorchRandom, world: usize) -> Result<f64, Error> {
    const TOKENS: u32 = 128 << 10;
    let ranks: Vec<Vec<u32>> = (0..world)
        .map(|_| {
            let (mut lengths, mut left) = (Vec::new(), TOKENS);
            while left > 0 {
                let length = (512.0 * 256_f64.powf(f64::from(random.uniform()))) as u32;
                lengths.push(length.clamp(1, left));
                left -= length.clamp(1, left);
            }
            lengths
        })
        .collect();
    let batch = place_on_ranks(&ranks)?;
    let microbatch = Microbatch::of(&batch, &Rows::LLAMA_8B, &Machine::H100, Passes::Both)?;
    let step = Step {
        microbatches: vec![microbatch],
        layers: 1,
        stages: 1,
        activation_bytes: vec![0; world],
        nano_batches: 1,
        overlap: false,
    };
    let Some(network) = Preset::of_name("free") else { return Ok(f64::NAN) };
    Ok(play(&step, &Machine::H100, &network.network(), Wire::Model)?.idle_share())
}
