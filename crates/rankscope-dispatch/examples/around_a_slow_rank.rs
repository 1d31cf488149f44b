//! One of eight ranks computes at 70 % of the others' speed. What waiting for it costs, what a plan around it gains, and proof
//! that the plan's bytes arrive: `cargo run -p rankscope-dispatch --example around_a_slow_rank`.

#![expect(clippy::print_stdout, reason = "an example prints")]

use rankscope_dispatch::movement::{self, ElementType};
use rankscope_dispatch::network::Preset;
use rankscope_dispatch::planner::bounded::{Options, bounded};
use rankscope_dispatch::planner::{Prices, Remote, place_in_order};
use rankscope_dispatch::{Batch, Direction, Error, Exchange, Rows};

/// Rank 2 is slow.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 0.7, 1.0, 1.0, 1.0, 1.0, 1.0];

fn main() -> Result<(), Error> {
    // Narrow rows, so that the bytes of a whole step fit anywhere; what they cost is counted in those of a model.
    let (model, narrow) = (Rows::LLAMA_8B, Rows { hidden_q: 8, hidden_kv: 8, lse: 0, element_bytes: 2 });
    let lengths = [40_960, 1_536, 2_048, 16_384, 768, 3_072, 24_576, 8_192, 12_288, 1_024, 20_224];
    let layout = place_in_order(&lengths, 8, 16_384)?;
    let options = Options::new(0.02, Prices::of(&model));
    let equal = bounded(&layout, &options)?;
    let weighted = bounded(&layout, &Options { weights: WEIGHTS.to_vec(), ..options.clone() })?;

    println!("                      slowest rank   bytes between ranks   predicted exchange");
    for (name, plan) in
        [("as it lies", &layout_at_home(&layout)?), ("planned as if alike", &equal), ("planned around it", &weighted)]
    {
        let exchange = Exchange::new(plan, &model, Direction::Forward)?;
        let takes = Preset::of_name("h100-nvlink").expect("a preset").network().predict(&exchange.traffic())?;
        let bytes = Remote::of(plan).bytes(options.prices);
        println!("{name:20}  {:12.3}   {bytes:19}   {:15.2} ms", slowest(plan)?, takes.total.as_nanos() as f64 / 1e6);
    }

    round_trip(&weighted, &narrow)?;
    println!("every query of the last plan came back as it went");
    Ok(())
}

/// Every rank computes what it holds.
fn layout_at_home(layout: &Batch) -> Result<Batch, Error> {
    let mut plan = Batch::new(layout.world_size())?;
    for document in layout.documents() {
        let home: Vec<_> =
            document.iter().map(|shard| rankscope_dispatch::Shard { attention: shard.linear, ..*shard }).collect();
        plan.push(&home)?;
    }
    Ok(plan)
}

/// Time of the rank that the others wait for, over the time of all when none waits.
fn slowest(plan: &Batch) -> Result<f64, Error> {
    let cells = plan.cells()?;
    let time = cells.iter().zip(WEIGHTS).map(|(&cells, weight)| cells as f64 / weight).fold(0.0, f64::max);
    Ok(time * WEIGHTS.iter().sum::<f64>() / cells.iter().sum::<u64>() as f64)
}

/// Queries go out as queries and come back as outputs.
fn round_trip(plan: &Batch, rows: &Rows) -> Result<(), Error> {
    let (out, back) = (Exchange::new(plan, rows, Direction::Forward)?, Exchange::new(plan, rows, Direction::Output)?);
    let inputs: Vec<Vec<Vec<u8>>> = out
        .ranks
        .iter()
        .map(|rank| {
            let bytes = rank.input_rows.iter().zip(&out.tensors).map(|(rows, tensor)| rows * tensor.row_bytes);
            bytes.map(|bytes| (0..bytes).map(|at| (at + u64::from(rank.rank.0)) as u8).collect()).collect()
        })
        .collect();
    let arrived = movement::execute(&out, ElementType::Bf16, &inputs)?;
    let outputs: Vec<Vec<Vec<u8>>> = arrived.into_iter().map(|tensors| tensors.into_iter().take(1).collect()).collect();
    let returned = movement::execute(&back, ElementType::Bf16, &outputs)?;
    for (sent, came) in inputs.iter().zip(&returned) {
        assert_eq!(sent[0], came[0], "a query was changed on its way");
    }
    Ok(())
}
