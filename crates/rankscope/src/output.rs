//! Talking to the user: progress and errors on stderr, answers on stdout.

#![expect(clippy::print_stderr, reason = "this is the one place that talks to the terminal")]

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// What an answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[value(alias = "text")]
    Table,
    /// One JSON document
    Json,
}

/// Columns assumed where stdout is no terminal.
const COLUMNS_DEFAULT: usize = 100;

/// One paragraph about what went wrong and what to do.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    eprintln!("rankscope: {error:#}");
    ExitCode::from(1)
}

/// A line for the human, beside the answer.
pub(crate) fn remark(text: &str) {
    eprintln!("{text}");
}

/// The answer. A reader that has seen enough (`| head`) is no failure.
pub(crate) fn answer(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| match text.ends_with('\n') {
        true => stdout.flush(),
        false => stdout.write_all(b"\n").and_then(|()| stdout.flush()),
    });
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Whether to colour stdout: it is a terminal and `NO_COLOR` is not set.
pub(crate) fn colored() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How wide stdout is.
pub(crate) fn columns() -> usize {
    terminal_size::terminal_size().map_or(COLUMNS_DEFAULT, |(width, _)| usize::from(width.0))
}

/// A bar over `steps` on stderr, if that is a terminal.
pub(crate) fn progress(steps: usize, what: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps as u64).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {elapsed}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
