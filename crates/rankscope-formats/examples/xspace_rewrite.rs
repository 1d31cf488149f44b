//! Reads an `.xplane.pb` and writes it again with everything it holds: `xspace_rewrite IN OUT`.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};

use rankscope_formats::{ArgsPolicy, ReadOptions, xspace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args().skip(1);
    let (Some(input), Some(output)) = (paths.next(), paths.next()) else { return Err("usage: xspace_rewrite IN OUT".into()) };
    let options = ReadOptions { label: input.clone(), args: ArgsPolicy::All, ..ReadOptions::default() };
    let trace = xspace::read(BufReader::new(File::open(&input)?), &options)?;
    let mut file = BufWriter::new(File::create(&output)?);
    xspace::write(&trace, &mut file)?;
    file.flush()?;
    Ok(())
}
