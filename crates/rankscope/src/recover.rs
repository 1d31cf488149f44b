//! `rankscope recover`: what a process that died had recorded, as a trace.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format, Lines};
use rankscope_formats::Format as TraceFormat;
use rankscope_formats::recording::export::{About, ThreadWritten, Written, kineto_json, perfetto};
use rankscope_formats::recording::keys::NAMES_FULL;
use rankscope_formats::recording::{Chunks, Cut, DropReason, Recording, Remark, packed};
use rankscope_run::{file_name, open_live, recovered_path, refuse_same_file, write_encoded};
use serde::Serialize;

/// Recover what a process had recorded when it died.
///
/// Reads the live file that a recorder left behind, writes a complete trace next to it, and prints for every thread how many
/// events it holds and how many spans were open. A span counts as one event, ended or not. The suffix of OUT decides what is
/// written: .rkr, the recorder's own packed format, .pftrace or .json, each also .gz or .zst. FILE itself is not changed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file a recorder left behind
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// The trace to write [default: FILE with the suffix .recovered.rkr]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let path = args.output.unwrap_or_else(|| recovered_path(&args.input));
    refuse_same_file(std::slice::from_ref(&args.input), &path)?;
    let recording = open_live(&args.input)?;
    let written = write(&recording, &path)?;
    let recovered = Recovered::of(&recording, &written, &path);
    match args.format {
        Format::Json => output::answer(&serde_json::to_string(&recovered)?)?,
        Format::Table => output::answer(&recovered.to_text())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn write<C: Chunks>(recording: &Recording<C>, path: &Path) -> Result<Written> {
    let name = file_name(path);
    let format = TraceFormat::of_name(&name);
    let Some(format @ (TraceFormat::Recording | TraceFormat::Perfetto | TraceFormat::Json)) = format else {
        bail!(
            "{}: recover writes .rkr, .pftrace or .json, optionally followed by .gz or .zst; `rankscope convert` turns these into others",
            path.display()
        );
    };
    let everything = Cut::everything();
    let about = About::of(recording).with_trace_name(name);
    let mut written = Written::default();
    write_encoded(path, |encoder| {
        written = match format {
            TraceFormat::Json => kineto_json(recording, &everything, &about, encoder),
            TraceFormat::Perfetto => perfetto(recording, &everything, &about, encoder),
            _ => packed::write(recording, &everything, encoder),
        }
        .with_context(|| path.display().to_string())?;
        anyhow::Ok(())
    })?;
    Ok(written)
}

/// What came back.
#[derive(Debug, Serialize)]
struct Recovered<'a> {
    output: &'a Path,
    events: u64,
    threads: Vec<Thread<'a>>,
    /// Chunks nothing of which can be read.
    lost_chunks: u32,
    /// Chunks whose end cannot be read.
    cut_chunks: u32,
    /// What the recorder itself had to leave out.
    dropped: Vec<Dropped>,
    /// How many times a name made up at run time found no room.
    names_full: u64,
    /// Events that a ring had made room with.
    overwritten: u64,
    /// What was recorded otherwise than the program may think.
    remarks: Vec<Remarked>,
}

#[derive(Debug, Serialize)]
struct Thread<'a> {
    name: &'a str,
    stream: u32,
    tid: u64,
    events: u64,
    open_spans: u64,
}

#[derive(Debug, Serialize)]
struct Dropped {
    reason: &'static str,
    stream: u32,
    events: u64,
}

#[derive(Debug, Serialize)]
struct Remarked {
    remark: &'static str,
    stream: u32,
    count: u64,
}

impl<'a> Recovered<'a> {
    fn of<C: Chunks>(recording: &'a Recording<C>, written: &Written, output: &'a Path) -> Self {
        let thread = |(thread, of): (&'a rankscope_formats::recording::Thread, &ThreadWritten)| Thread {
            name: &thread.name,
            stream: thread.stream,
            tid: thread.tid,
            events: of.events,
            open_spans: of.open_spans,
        };
        let (lost, overwritten): (Vec<_>, Vec<_>) = recording.drops().iter().partition(|(reason, ..)| reason.is_loss());
        let dropped = |(reason, stream, events): &(DropReason, u32, u64)| Dropped {
            reason: reason.name(),
            stream: *stream,
            events: *events,
        };
        let remarked =
            |(remark, stream, count): &(Remark, u32, u64)| Remarked { remark: remark.name(), stream: *stream, count: *count };
        Self {
            output,
            events: written.events,
            threads: recording.threads().iter().zip(&written.threads).map(thread).collect(),
            lost_chunks: recording.lost_chunks(),
            cut_chunks: recording.cut_chunks(),
            names_full: names_full(recording),
            dropped: lost.into_iter().map(dropped).collect(),
            overwritten: overwritten.iter().map(|(.., events)| events).sum(),
            remarks: recording.remarks().iter().map(remarked).collect(),
        }
    }

    fn to_text(&self) -> String {
        let mut text = Lines::default();
        for thread in &self.threads {
            let name = if thread.name.is_empty() { "(no name)" } else { thread.name };
            let open = match thread.open_spans {
                0 => String::new(),
                1 => ", 1 span open".to_owned(),
                open => format!(", {open} spans open"),
            };
            text.line(format_args!("{name} ({}): {} events{open}", thread.tid, thread.events));
        }
        if self.lost_chunks + self.cut_chunks > 0 {
            text.line(format_args!("damaged: {} chunks lost, {} cut short", self.lost_chunks, self.cut_chunks));
        }
        for reason in DropReason::ALL.map(DropReason::name) {
            let of = self.dropped.iter().filter(|dropped| dropped.reason == reason);
            let events: u64 = of.map(|dropped| dropped.events).sum();
            if events > 0 {
                text.line(format_args!("dropped: {events} events ({reason})"));
            }
        }
        if self.overwritten > 0 {
            text.line(format_args!("overwritten by the ring: {} events", self.overwritten));
        }
        for remark in Remark::ALL {
            let of = self.remarks.iter().filter(|remarked| remarked.remark == remark.name());
            let count: u64 = of.map(|remarked| remarked.count).sum();
            if count > 0 {
                text.line(format_args!("note: {}", remark.in_words(count)));
            }
        }
        if self.names_full > 0 {
            text.line(format_args!(
                "names left out: {} (the process made up more names than a recording keeps; put what varies into arguments)",
                self.names_full
            ));
        }
        let (output, events, threads) = (self.output.display(), self.events, self.threads.len());
        text.line(format_args!("written: {output}, {events} events of {threads} threads"));
        text.into_text()
    }
}

fn names_full<C: Chunks>(recording: &Recording<C>) -> u64 {
    recording.meta().iter().find(|(key, _)| key == NAMES_FULL).and_then(|(_, json)| json.parse().ok()).unwrap_or(0)
}
