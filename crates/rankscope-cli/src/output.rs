//! Talking to the user: progress and errors on stderr, answers on stdout. This is the one place that does, beside the screen of `top`, and
//! nothing passes it that could steer a terminal (see [`rankscope_report::plain`]), wherever it came from.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use rankscope_pipeline::ExitClass;
use rankscope_report::{Style, plain};

use crate::{ExitCode, called};

pub use rankscope_pipeline::quoted;
pub use rankscope_pipeline::told as told_of;
pub use rankscope_report::plain::one_line;

/// What an answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Readable text
    #[value(alias = "text")]
    Table,
    /// One JSON document
    Json,
}

/// Columns assumed where stdout is no terminal.
const COLUMNS_DEFAULT: usize = 100;

/// One paragraph about what went wrong and what to do.
pub fn fail(error: &anyhow::Error) -> ExitCode {
    remark(&format!("rankscope: {}", rankscope_pipeline::told(error.as_ref())));
    let of_run = || error.downcast_ref::<rankscope_run::Error>().map(ExitClass::of);
    let class = error.downcast_ref::<rankscope_pipeline::Error>().map(rankscope_pipeline::Error::class).or_else(of_run);
    match class {
        Some(ExitClass::InputChanged) => ExitCode::from(INPUT_CHANGED),
        Some(ExitClass::Usage) => ExitCode::from(USED_WRONGLY),
        _ => ExitCode::FAILURE,
    }
}

/// What a user asked for in a way that means nothing.
pub fn misused(why: &str) -> ExitCode {
    remark(&format!("rankscope: {why}"));
    ExitCode::from(USED_WRONGLY)
}

/// `words` as one types them into a shell.
pub fn command_line<W: AsRef<std::ffi::OsStr>>(words: impl IntoIterator<Item = W>) -> String {
    let words = words.into_iter().map(|word| quoted(&word.as_ref().to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

/// A line for the human, beside the answer. Where stderr cannot be written to, nobody is there to be told.
pub fn remark(text: &str) {
    let _nobody_reads = writeln!(io::stderr().lock(), "{}", one_line(text));
}

/// A line as [`remark`], set apart from what was said before.
pub fn remark_apart(text: &str) {
    let _nobody_reads = writeln!(io::stderr().lock(), "\n{}", one_line(text));
}

/// What clap says of a command line: help, or what is wrong with it. Words of the command line may be names of files, so where any
/// of them steers, clap is given them in plain text; `parse` reads them.
pub fn usage<T>(error: clap::Error, parse: impl FnOnce(Vec<String>) -> Result<T, clap::Error>) -> ExitCode {
    let words: Vec<String> = called::words().iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let plain: Vec<String> = words.iter().map(|word| one_line(word)).collect();
    let told = if plain == words { Some(error) } else { parse(plain).err() };
    match told {
        Some(error) => {
            let _nobody_reads = error.print();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(USED_WRONGLY))
        }
        None => {
            remark("error: an argument contains control characters, which are not accepted there");
            ExitCode::from(USED_WRONGLY)
        }
    }
}

const USED_WRONGLY: u8 = 2;
const INPUT_CHANGED: u8 = 4;

/// An answer that is written line by line: whatever is in a line, it stays one.
#[derive(Default)]
pub struct Lines(String);

impl Lines {
    /// One more line.
    pub fn line(&mut self, line: fmt::Arguments<'_>) {
        self.0 += &one_line(&line.to_string());
        self.0.push('\n');
    }

    /// All lines, each with its end.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// The answer. A reader that has seen enough (`| head`) is no failure.
///
/// # Errors
/// Where stdout cannot be written to.
pub fn answer(text: &str) -> io::Result<()> {
    let text = plain::lines(text, colored());
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| match text.ends_with('\n') {
        true => stdout.flush(),
        false => stdout.write_all(b"\n").and_then(|()| stdout.flush()),
    });
    enough(written)
}

/// An answer that is written piece by piece, as it may be longer than what it is made of.
///
/// # Errors
/// As [`answer`], and those of `write`.
pub fn answer_by(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut stdout = BufWriter::with_capacity(PIECE_BYTES, plain::Plain::new(io::stdout().lock()));
    enough(write(&mut stdout).and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush()))
}

const PIECE_BYTES: usize = 1 << 16;

fn enough(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Whether to colour stdout: it is a terminal and `NO_COLOR` is not set.
fn colored() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How stdout is drawn on.
pub fn style() -> Style {
    Style { color: colored(), width: columns() }
}

/// How wide stdout is.
pub fn columns() -> usize {
    terminal_size::terminal_size().map_or(COLUMNS_DEFAULT, |(width, _)| usize::from(width.0))
}

/// A bar over `steps` on stderr, if that is a terminal.
pub fn progress(steps: usize, what: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(steps as u64).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {elapsed}{fetched}") {
        let fetched = |_: &ProgressState, to: &mut dyn fmt::Write| match rankscope_run::fetched_bytes() {
            0 => {}
            // The bar takes any write.
            bytes => drop(write!(to, ", {} fetched", rankscope_report::bytes(bytes))),
        };
        bar.set_style(style.with_key("fetched", fetched).progress_chars("=> "));
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
