//! `read_floor FILE...`: what a reader of traces cannot do without. Inflates each file and passes over its JSON, one thread for all
//! and nothing kept, and prints one JSON object: bytes of JSON, seconds of each, the better of two passes.
//!
//! The JSON is passed over by serde_json, which checks what it passes over; a reader that looks up names and numbers as well does more.
#![expect(clippy::print_stdout, reason = "a program talks to its reader")]

use std::error::Error;
use std::fs;
use std::io::Read;
use std::time::Instant;

use flate2::read::MultiGzDecoder;
use serde::de::IgnoredAny;

/// Large enough that calls into the decoder cost nothing, small enough for the second-level cache.
const BUFFER: usize = 256 << 10;

#[derive(Clone, Copy, Default)]
struct Floor {
    bytes: usize,
    inflate_seconds: f64,
    skip_seconds: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut all = Floor::default();
    for path in std::env::args_os().skip(1) {
        let one = floor(&fs::read(&path)?).map_err(|error| format!("{}: {error}", path.display()))?;
        all.bytes += one.bytes;
        all.inflate_seconds += one.inflate_seconds;
        all.skip_seconds += one.skip_seconds;
    }
    let Floor { bytes, inflate_seconds, skip_seconds } = all;
    println!(r#"{{"bytes":{bytes},"inflate_seconds":{inflate_seconds},"skip_seconds":{skip_seconds}}}"#);
    Ok(())
}

fn floor(file: &[u8]) -> Result<Floor, Box<dyn Error>> {
    if !file.starts_with(&[0x1f, 0x8b]) {
        return Ok(Floor { bytes: file.len(), inflate_seconds: 0.0, skip_seconds: better_of_two(|| skip(file))? });
    }
    let mut json = Vec::new();
    MultiGzDecoder::new(file).read_to_end(&mut json)?;
    let inflate_seconds = better_of_two(|| inflate(file))?;
    Ok(Floor { bytes: json.len(), inflate_seconds, skip_seconds: better_of_two(|| skip(&json))? })
}

fn better_of_two(work: impl Fn() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut seconds = f64::INFINITY;
    for _ in 0..2 {
        let begun = Instant::now();
        work()?;
        seconds = seconds.min(begun.elapsed().as_secs_f64());
    }
    Ok(seconds)
}

fn inflate(file: &[u8]) -> Result<(), Box<dyn Error>> {
    let (mut decoder, mut buffer) = (MultiGzDecoder::new(file), vec![0; BUFFER]);
    while decoder.read(&mut buffer)? > 0 {}
    Ok(())
}

fn skip(json: &[u8]) -> Result<(), Box<dyn Error>> {
    let _: IgnoredAny = serde_json::from_slice(json)?;
    Ok(())
}
