//! What a span costs, here and elsewhere, all from one run.
//!
//! ```text
//! rankscope-record-bench            the whole table as JSON on stdout
//! rankscope-record-bench turn NAME  one contestant; takes a turn for every line on stdin
//! rankscope-record-bench stop ...   and the other parts, each a process of its own
//! ```
//!
//! Every contestant is a process of its own, and the processes take turns, so that a slow minute of the machine is shared by
//! all and no contestant's queue, allocator or thread sits in another's way. Nothing is asserted here.

mod clock;
mod document;
mod export;
mod floor;
mod layer;
mod memory;
mod ours;
mod rivals;
mod sessions;
mod stop;
mod turns;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [] => document::print(),
        ["turn", name] => turns::take(name),
        ["stop", spans] => stop::run(spans.parse()?),
        ["export", format, storage, spans] => export::run(format, storage, spans.parse()?),
        ["sessions", cycles] => sessions::run(cycles.parse()?),
        _ => bail!("unknown arguments {args:?}; none prints the table"),
    }
}
