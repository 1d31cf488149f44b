//! `cargo xtask soak`: a job that trains for hours, recorded into rings and watched, whose processes have to keep their memory.
//!
//! All is the product's own: `rankscope demo --live` with a ring for each rank, its clock agents, `rankscope watch`, and
//! `rankscope top` on a terminal. What each process holds is read from the kernel while they run; nobody is asked. It refuses to
//! judge a run in which a process ended early.

mod held;
mod processes;
mod screen;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cargo;
use held::Series;
use processes::Process;

/// Options of `cargo xtask soak`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long the job trains.
    #[arg(long, default_value_t = 8.0)]
    hours: f64,
    /// Ranks, each with an agent of its own.
    #[arg(long, default_value_t = 4)]
    ranks: u32,
    /// Seconds that each rank's ring keeps.
    #[arg(long, default_value_t = 60)]
    ring_s: u32,
    /// Seconds from one look at the processes to the next.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    every_s: u64,
    /// Run this program instead of building target/release/rankscope.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// `json` for one document on stdout.
    #[arg(long, default_value = "table")]
    format: String,
}

/// What all have to be up after.
const STARTING: Duration = Duration::from_secs(20);

/// Runs the job, and says what each of its processes held.
pub(crate) fn run(args: &Args) -> Result<()> {
    let target = cargo::metadata()?.target_directory;
    let binary = args.binary.clone().map_or_else(|| cargo::release_binary(&target), Ok)?;
    let out = target.join("soak");
    let seconds = args.hours * 3_600.0;
    // A ring that is not full yet grows.
    let least_s = (4 * u64::from(args.ring_s)).max(10 * args.every_s);
    if seconds < least_s as f64 {
        bail!("--hours {} is too short: {least_s} s at least, for ten looks and four rings", args.hours);
    }
    let mut job = Job::start(&binary, &out, args, seconds)?;
    let begun = Instant::now();
    let mut series = Vec::<Series>::new();
    while begun.elapsed().as_secs_f64() < seconds {
        for process in job.processes()? {
            match series.iter_mut().find(|one| one.process == process) {
                Some(one) => one.look()?,
                None => series.push(Series::begin(process)?),
            }
        }
        sleep(Duration::from_secs(args.every_s));
        job.all_run()?;
    }
    let disk_mb = ["raw", "clock"].map(|folder| folder_bytes(&out.join(folder)) as f64 / 1e6);
    drop(job);
    held::print(&series, begun.elapsed().as_secs_f64() / 3_600.0, disk_mb, args.format == "json")
}

/// The demo and who watches it. They end with this.
struct Job {
    /// What the program is called.
    program: String,
    demo: Child,
    watchers: Vec<Child>,
}

impl Job {
    fn start(binary: &Path, out: &Path, args: &Args, seconds: f64) -> Result<Self> {
        let started = |command: &mut Command| command.spawn().with_context(|| format!("failed to start {}", binary.display()));
        let mut demo = Command::new(binary);
        // It outlasts the looks, and is ended by a signal.
        let length = format!("{:.0}", seconds + 600.0);
        demo.args(["demo", "--live", "--ranks", &args.ranks.to_string(), "--seconds", &length, "--out"]).arg(out);
        demo.env("RANKSCOPE_RING", args.ring_s.to_string()).stdin(Stdio::null()).stdout(Stdio::null());
        let program = binary.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut job = Self { program, demo: started(&mut demo)?, watchers: Vec::new() };
        sleep(STARTING);
        let mut watch = Command::new(binary);
        watch.arg("watch").arg(out).stdin(Stdio::null()).stdout(Stdio::null());
        job.watchers.push(started(&mut watch)?);
        job.watchers.push(screen::start(binary, &["top".as_ref(), out.as_os_str()])?);
        sleep(STARTING);
        job.all_run()?;
        Ok(job)
    }

    /// All of them, with the demo's children.
    fn processes(&self) -> Result<Vec<Process>> {
        let roots = std::iter::once(self.demo.id()).chain(self.watchers.iter().map(Child::id));
        let found = processes::descendants(&roots.collect::<Vec<_>>(), &self.program)?;
        if found.is_empty() {
            bail!("no process of the job runs {}", self.program);
        }
        Ok(found)
    }

    fn all_run(&mut self) -> Result<()> {
        for child in std::iter::once(&mut self.demo).chain(&mut self.watchers) {
            if let Some(status) = child.try_wait()? {
                bail!("process {} ended by itself ({status})", child.id());
            }
        }
        Ok(())
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        for child in self.watchers.iter_mut().chain([&mut self.demo]) {
            // Gone already is as good. The demo's own children end with it.
            let _gone = child.kill();
            let _reaped = child.wait();
        }
    }
}

/// What lies in a folder; nothing where there is none.
fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).filter(std::fs::Metadata::is_file).map(|file| file.len()).sum()
}
