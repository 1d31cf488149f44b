//! Reads a Kineto trace (plain or gzip) and says what it holds: `cargo run --release --example read_kineto -- trace.json.gz`.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::io::Read;

use rankscope_formats::{ReadOptions, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let file = std::fs::File::open(&path)?;
        let input: Box<dyn Read + Send> =
            if path.ends_with(".gz") { Box::new(flate2::read::MultiGzDecoder::new(file)) } else { Box::new(file) };
        let started = std::time::Instant::now();
        let trace = json::read(input, &ReadOptions::default().with_label(path.clone()))?;
        let seconds = started.elapsed().as_secs_f64();
        println!("{path}: {} bytes, {} events in {seconds:.3} s", trace.provenance.bytes, trace.events());
        println!(
            "  spans {} instants {} counters {} flows {} collectives {} correlations {} tracks {} strings {} steps {}",
            trace.spans.len(),
            trace.instants.len(),
            trace.counters.len(),
            trace.flows.len(),
            trace.collectives.len(),
            trace.correlations.len(),
            trace.tracks.len(),
            trace.strings.len(),
            trace.steps.len()
        );
        let about = &trace.provenance;
        println!(
            "  rank {:?} world {:?} host {:?} groups {}",
            about.rank,
            about.world_size,
            about.host,
            about.process_groups.len()
        );
        for problem in about.problems.iter() {
            println!("  {} x {} from byte {} {}", problem.count, problem.kind, problem.offset, problem.detail);
        }
    }
    Ok(())
}
