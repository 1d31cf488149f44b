//! Reads a trace of any format and writes it as an XSpace with everything it holds: `xspace_rewrite IN OUT.xplane.pb`.

use std::fs::File;
use std::io::{BufWriter, Write};

use rankscope_formats::{ArgsPolicy, ReadOptions, xspace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut paths = std::env::args().skip(1);
    let (Some(input), Some(output)) = (paths.next(), paths.next()) else { return Err("usage: xspace_rewrite IN OUT".into()) };
    let options = ReadOptions { label: input.clone(), args: ArgsPolicy::All, ..ReadOptions::default() };
    let member = rankscope_formats::read(File::open(&input)?, &options)?.into_iter().next().ok_or("no trace inside")?;
    let mut file = BufWriter::new(File::create(&output)?);
    xspace::write(&member.trace?, &mut file)?;
    file.flush()?;
    Ok(())
}
