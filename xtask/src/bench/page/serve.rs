//! How long `rankscope serve` takes for its first page, for a report, and for the kernels of a step, which it reads from the trace when asked.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::Figure;
use crate::cargo;

/// What is served: a report of these traces.
const TRACES: &str = "fixtures/torch-gloo-4ranks";

/// What is asked of each, in milliseconds.
const FIRST_PAGE_MS: f64 = 50.0;
const REPORT_MS: f64 = 100.0;
const KERNELS_MS: f64 = 500.0;
const KERNELS_AGAIN_MS: f64 = 50.0;

/// Measures the program `binary`, whose report goes into `folder`.
pub(super) fn figures(binary: &Path, folder: &Path) -> Result<Vec<Figure>> {
    let (traces, run) = (cargo::root().join(TRACES), folder.join("page-served"));
    let made = Command::new(binary).arg("report").arg(&traces).arg("--out").arg(&run).stdout(Stdio::null()).status()?;
    ensure!(made.success(), "no report of {}: {made}", traces.display());
    let report: Value = serde_json::from_slice(&fs::read(run.join("report.json"))?)?;
    let step = report["ranks"][0]["steps"][0]["step"].as_i64().context("the report has no step")?;
    let server = Server::start(binary, &run, &traces)?;
    let name = run.file_name().context("a folder has a name")?.to_string_lossy().into_owned();
    let kernels = format!("/api/runs/{name}/kernels?rank=0&step={step}");
    let asked = [
        ("first page", "/".to_owned(), FIRST_PAGE_MS),
        ("list of runs", "/api/runs".to_owned(), FIRST_PAGE_MS),
        ("report", format!("/runs/{name}/files/report.html"), REPORT_MS),
        ("kernels of a step", kernels.clone(), KERNELS_MS),
        ("kernels of a step, again", kernels, KERNELS_AGAIN_MS),
    ];
    asked
        .into_iter()
        .map(|(what, path, bar)| Ok(Figure::at_most("serve".to_owned(), what, "ms", server.ms(&path)?, bar)))
        .collect()
}

/// A server that ends with us.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(binary: &Path, run: &Path, traces: &Path) -> Result<Self> {
        let mut command = Command::new(binary);
        command.arg("serve").arg(run).arg("--traces").arg(traces).args(["--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("failed to serve")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("piped")?).read_line(&mut line)?;
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        Ok(Self { child, address })
    }

    /// From the connection to the last byte of the answer.
    fn ms(&self, path: &str) -> Result<f64> {
        let begin = Instant::now();
        let mut stream = TcpStream::connect(&self.address).with_context(|| format!("{}: nobody answers", self.address))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let ms = begin.elapsed().as_secs_f64() * 1e3;
        if !answer.starts_with(b"HTTP/1.1 200 ") {
            bail!("{path}: {}", String::from_utf8_lossy(&answer).lines().next().unwrap_or("no answer"));
        }
        Ok(ms)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
