//! Writes the traces of a simulated job and says what is wrong with it:
//! `cargo run -p rankscope-testkit --example simulate -- [FOLDER] [--cause NAME] [--seed N] [--ranks N]`. Without a folder it only says.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use rankscope_testkit::Dialect;
use rankscope_testkit::simulated::{CauseKind, Job};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (mut folder, mut kind, mut seed, mut ranks) = (None, None, 1, None);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
        match word.as_str() {
            "--cause" => kind = Some(value()?.parse::<CauseKind>()?),
            "--seed" => seed = value()?.parse()?,
            "--ranks" => ranks = Some(value()?.parse()?),
            _ => folder = Some(PathBuf::from(word)),
        }
    }
    let job = match ranks {
        Some(ranks) => Job::drawn_of(kind, seed, ranks),
        None => Job::drawn(kind, seed),
    };
    if let Some(folder) = folder {
        write(&job, &folder)?;
    }
    let truth = job.truth();
    let ms = |ns: i64| ns as f64 / 1e6;
    println!("{:?}, clocks {:?}", job.layout, job.clocks);
    println!("{:?} on ranks {:?}, shown by {:?}", job.cause, truth.ranks, truth.names);
    let (step, clean, worth) = (ms(truth.step_ns), ms(truth.clean_step_ns), ms(truth.worth_ns_per_step()));
    println!("{step:.3} ms a step; {clean:.3} ms without it, so it costs {worth:.3} ms");
    Ok(())
}

fn write(job: &Job, folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let run = job.run();
    for rank in 0..job.layout.ranks {
        let file = File::create(folder.join(format!("rank{rank}.json")))?;
        run.rank_json(rank, &Dialect::default(), &mut BufWriter::new(file))?;
    }
    Ok(())
}
