//! `cargo xtask bench stores`: what it costs to report on traces that lie in a store, beside the same files on the disk.
//!
//! The store is a server of S3's protocol on this machine, which keeps objects as files and checks signatures, so that nothing but the way through
//! the protocol differs. Both are read in turn, so that what else the machine does meets both. The server's own processor time is not counted.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use super::child::{self, Cost};
use super::table::push;
use super::{at_hand, made};
use crate::{cargo, engines};

/// Options of `cargo xtask bench stores`.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Read each in turn so many times; the fastest counts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
    /// Measure this program, which must have the feature `store`, instead of building its release.
    #[arg(long)]
    binary: Option<PathBuf>,
}

#[derive(Serialize)]
struct Outcome {
    inputs: Vec<Measured>,
    /// What a store may take, times the file.
    gate: f64,
}

/// A trace, or those of a job.
#[derive(Serialize)]
struct Measured {
    input: String,
    file: Cost,
    store: Cost,
    /// Of wall clocks, the store by the file.
    ratio: f64,
}

const GATE: f64 = 1.3;
const BUCKET: &str = "traces";
const KEY: &str = "rankscope";
const SECRET: &str = "only-on-this-machine";

/// Runs the benchmark.
pub(super) fn run(args: &Args) -> Result<()> {
    let binary = match &args.binary {
        Some(binary) => binary.clone(),
        None => cargo::release_with(&cargo::metadata()?.target_directory, "store")?,
    };
    let (binary, folder) = at_hand(Some(&binary))?;
    let server = Server::start(&folder)?;
    let compressed = made(&folder)?.into_iter().filter(|input| input.gzip.is_none());
    let measured = compressed.map(|input| {
        eprintln!("measuring {}", input.path.display());
        server.hold(&input.path, &input.name)?;
        measure(&binary, &input.path, &input.name, &server, args.runs.max(1))
    });
    let outcome = Outcome { inputs: measured.collect::<Result<_>>()?, gate: GATE };
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&outcome)?),
        _ => print!("{}", markdown(&outcome)),
    }
    Ok(())
}

fn measure(binary: &Path, file: &Path, name: &str, server: &Server, runs: usize) -> Result<Measured> {
    let url = format!("s3://{BUCKET}/{name}");
    let report = |of: &Path| {
        let mut command = Command::new(binary);
        command.arg("report").arg(of).args(["--format", "json", "--no-timeline"]);
        command.envs(server.credentials()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let fastest = |best: Option<Cost>, cost: Cost| Some(best.filter(|best| best.seconds <= cost.seconds).unwrap_or(cost));
    let (mut of_file, mut of_store) = (None, None);
    for _ in 0..runs {
        of_file = fastest(of_file, child::succeed(&mut report(file))?);
        of_store = fastest(of_store, child::succeed(&mut report(Path::new(&url)))?);
    }
    let (file, store) = of_file.zip(of_store).context("nothing was run")?;
    Ok(Measured { input: name.to_owned(), file, store, ratio: store.seconds / file.seconds })
}

/// A server of its own, until this is dropped.
struct Server {
    child: Child,
    /// A folder is a bucket.
    root: tempfile::TempDir,
    address: SocketAddr,
}

/// How long it may take to begin.
const PATIENCE: Duration = Duration::from_secs(30);

impl Server {
    fn start(folder: &Path) -> Result<Self> {
        let root = tempfile::Builder::new().prefix("store-").tempdir_in(folder)?;
        fs::create_dir(root.path().join(BUCKET))?;
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        let mut command = Command::new(engines::s3_server()?);
        command.args(["--host", &host, "--port", &port, "--access-key", KEY, "--secret-key", SECRET]).arg(root.path());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("failed to start the server")?;
        let server = Self { child, root, address };
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            if begun.elapsed() > PATIENCE {
                bail!("the server of S3's protocol does not listen at {address}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Has the bucket hold what lies at `path`, as `name`.
    fn hold(&self, path: &Path, name: &str) -> Result<()> {
        let object = self.root.path().join(BUCKET).join(name);
        if !path.is_dir() {
            return link(path, &object);
        }
        fs::create_dir(&object)?;
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            link(&entry.path(), &object.join(entry.file_name()))?;
        }
        Ok(())
    }

    fn credentials(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT", format!("http://{}", self.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }
}

/// The same file by another name, without a copy where that is possible.
fn link(file: &Path, name: &Path) -> Result<()> {
    fs::hard_link(file, name).or_else(|_| symlink(file, name)).with_context(|| format!("failed to link {}", name.display()))
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}

fn markdown(outcome: &Outcome) -> String {
    let mut text =
        "| gzip | from a file, s | from the store, s | times | CPU s | CPU s, store |\n|---|--:|--:|--:|--:|--:|\n".to_owned();
    for Measured { input, file, store, ratio } in &outcome.inputs {
        let (seconds, cpu) = ((file.seconds, store.seconds), (file.cpu_seconds, store.cpu_seconds));
        push(
            &mut text,
            format_args!("| {input} | {:.2} | {:.2} | {ratio:.2} | {:.2} | {:.2} |", seconds.0, seconds.1, cpu.0, cpu.1),
        );
    }
    push(&mut text, format_args!("\nGate: {} times.", outcome.gate));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_as_many_cells_as_the_head() {
        let cost = Cost { seconds: 1.0, cpu_seconds: 2.0, peak_mb: 3.0 };
        let inputs = vec![Measured { input: "a".into(), file: cost, store: cost, ratio: 1.0 }];
        let text = markdown(&Outcome { inputs, gate: GATE });
        let bars: Vec<usize> = text.lines().take(3).map(|line| line.matches('|').count()).collect();
        assert_eq!(bars, [7; 3]);
    }
}
