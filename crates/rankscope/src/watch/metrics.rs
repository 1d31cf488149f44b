//! Figures for Prometheus: the last look, over HTTP and in a file. Whoever asks gets what is there and holds up nobody.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rankscope_cli::output;
use rankscope_document::LiveDocument;
use rankscope_report::{LiveCounts, live_metrics};
use rankscope_serve::{Method, Refusal, Request, Response};

use crate::serve::{head, send};

/// One client is answered at a time: none has longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The last look, and where it goes.
pub(super) struct Metrics {
    text: Arc<Mutex<String>>,
    file: Option<PathBuf>,
    /// What was said about the file is said once.
    is_told: bool,
}

impl Metrics {
    /// Listens at `address`, where one is given.
    pub(super) fn start(address: Option<SocketAddr>, file: Option<PathBuf>) -> Result<Self> {
        let text = Arc::new(Mutex::new(String::new()));
        if let Some(address) = address {
            let listener = TcpListener::bind(address).with_context(|| format!("--metrics {address}"))?;
            let said = listener.local_addr().unwrap_or(address);
            output::remark(&format!("rankscope: metrics at http://{said}/metrics"));
            let text = Arc::clone(&text);
            let answers = move || listener.incoming().for_each(|connection| answer(connection, &text));
            thread::Builder::new().name("rankscope-metrics".to_owned()).spawn(answers).context("a thread cannot be started")?;
        }
        Ok(Self { text, file, is_told: false })
    }

    /// Takes a look.
    pub(super) fn take(&mut self, document: &LiveDocument, counts: &LiveCounts) {
        let text = live_metrics(document, counts);
        if let Some(Err(error)) = self.file.as_ref().map(|file| written(file, &text))
            && !std::mem::replace(&mut self.is_told, true)
        {
            output::remark(&format!("rankscope: --metrics-file: {error}"));
        }
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// By a rename: whoever reads meanwhile has the file before.
fn written(file: &PathBuf, text: &str) -> std::io::Result<()> {
    let mut beside = file.clone().into_os_string();
    beside.push(format!(".{}", std::process::id()));
    fs::write(&beside, text)?;
    fs::rename(&beside, file)
}

fn answer(connection: std::io::Result<TcpStream>, text: &Mutex<String>) {
    let Ok(mut connection) = connection else {
        // Too many files are open: that passes.
        return thread::sleep(Duration::from_millis(20));
    };
    let asked = head(&mut connection, PATIENCE).and_then(|head| Request::parse(&head));
    let response = match asked {
        Err(refusal) => Response::refused(refusal),
        Ok(request) if request.target.segments() != ["metrics"] => Response::refused(Refusal::NotThere),
        Ok(request) => {
            let text = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Response { sends_body: request.method == Method::Get, ..Response::metrics(text) }
        }
    };
    let _gone = connection.set_write_timeout(Some(PATIENCE)).and_then(|()| send(connection, response));
}
