//! A picture rendered in tiles by a pool of rayon's, and which part of it costs most:
//! `cargo run --example rayon_tiles -- FILE` (without one, a file among the system's temporary ones).
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

mod answer;

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;

use rankscope_record::{Session, SessionOptions, record_function, set_thread_name};
use rayon::prelude::*;

const TILES: u64 = 64;
const PASSES: u64 = 4;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("tiles.rkr"), PathBuf::from);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(4)
        .start_handler(|index| set_thread_name(&format!("render-{index}")))
        .build()?;
    let session = Session::start(SessionOptions::default())?;
    let picture: u64 = pool.install(|| (0..TILES).into_par_iter().map(render).reduce(|| 0, u64::wrapping_add));
    let stopped = session.stop()?;
    println!("rendered {picture:x}; {} spans, {} lost", stopped.report.events(), stopped.report.dropped());
    stopped.recorded.save(&path)?;

    let Some(answer) = answer::spans(&path)? else { return Ok(()) };
    let [tile, shade] = ["render tile", "shade"].map(|name| answer::row(&answer, "spans", name).cloned().unwrap_or_default());
    assert_eq!((tile["count"].as_u64(), shade["count"].as_u64()), (Some(TILES), Some(TILES * PASSES)));
    // A tile's time is its passes' and its own.
    let ns = |row: &serde_json::Value, key: &str| row[key].as_i64().unwrap_or(-1);
    assert_eq!(ns(&tile, "total_ns"), ns(&tile, "self_ns") + ns(&shade, "total_ns"));
    Ok(())
}

fn render(tile: u64) -> u64 {
    let _span = record_function!("render tile", tile = tile);
    (0..PASSES).fold(0, |light, pass| light ^ shade(tile, pass))
}

fn shade(tile: u64, pass: u64) -> u64 {
    let _span = record_function!("shade", pass = pass);
    black_box((0..20_000 * (pass + 1)).fold(tile, |light, ray| light.rotate_left(7) ^ ray))
}
