//! `rankscope combine`: the traces of all ranks, on one clock, in one file.
//!
//! Ranks are moved to the common clock and written while the next ones are read, as many at a time as there are processors and memory
//! holds, and never less than two. Where clocks follow from the traces, and all traces fit, they are read once, and otherwise twice.
//! Chrome JSON wants its events in order of time across ranks, so there each rank is put aside in order first, and all are
//! merged at the end.

mod clocks;
mod inputs;
mod metadata;
mod print;

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use rankscope_align::GpuClock;
use rankscope_align::combine::keep_original;
use rankscope_cli::ExitCode;
use rankscope_cli::job::{ClockArgs, MemoryArgs};
use rankscope_cli::output::{self, Format};
use rankscope_collectives::CommPatterns;
use rankscope_document::CombineDocument;
use rankscope_formats::xspace::PlaneNames;
use rankscope_formats::{ArgsPolicy, Encoding, Format as TraceFormat, LeftOut, Member, Scope, left_out};
use rankscope_job::{Evidence, Numbering, Validated, combined_node, validation_document};
use rankscope_pipeline::{Ahead, CombinedFile, CombinedFormat, CombinedPart, Reading, title, unread};
use rankscope_run::{InputFile, Outputs, folder_of};
use rankscope_time::Rank;
use rankscope_trace::Trace;

use crate::validate::BROKEN;
use clocks::Clocks;
use inputs::inputs;

/// Combine the traces of all ranks or nodes into one file, every event on one clock.
///
/// The suffix of OUT decides: .xplane.pb or .xspace, .json, .pftrace (each also .gz or .zst), or .tar, an archive in which
/// every rank keeps its own file and clock and a manifest relates them. OUT.metadata.json records what was done to each.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files, directories, archives or patterns of the traces; a run directory supplies its clocks, too
    #[arg(value_name = "TRACES")]
    paths: Vec<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Traces in the order of their nodes: the first is node 0
    #[arg(long, value_name = "TRACE", num_args = 1..)]
    traces: Vec<PathBuf>,
    /// Snapshot pairs of each trace, in the same order [default: the traces' own plane /host:snapshots]
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "offsets")]
    snapshots: Vec<PathBuf>,
    /// Offsets of the nodes' clocks (round_offsets.jsonl or offsets.jsonl); node numbers are positions in the list of traces
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_correction", "from_traces", "as_recorded", "folder"])]
    offsets: Option<PathBuf>,
    /// Leave every timestamp as recorded
    #[arg(long, alias = "no_correction")]
    no_correction: bool,
    /// Run directory to take traces and clocks from
    #[arg(long, alias = "run_dir", value_name = "DIR", conflicts_with_all = ["paths", "traces"])]
    run_dir: Option<PathBuf>,
    /// Take the traces of the current directory
    #[arg(long, alias = "auto_discover", conflicts_with_all = ["paths", "traces", "run_dir"])]
    auto_discover: bool,
    /// How planes are named in an XSpace
    #[arg(long, value_enum, default_value_t = NamesArg::Viewer)]
    names: NamesArg,
    /// Keep every event's original start and duration beside the corrected ones
    #[arg(long, alias = "keep_original")]
    keep_original: bool,
    /// Print every event as it is written
    #[arg(long, alias = "print_events")]
    print_events: bool,
    /// Print every collective as it is written
    #[arg(long, alias = "print_collectives")]
    print_collectives: bool,
    /// Also validate the combined traces, and exit with 3 if they contain anything impossible; OUT is written either way
    #[arg(long)]
    validate: bool,
    /// Continue without files that cannot be read, if traces are numbered by their ranks
    #[arg(long)]
    partial: bool,
    /// What to print at the end
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    clocks: ClockArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum NamesArg {
    /// As XLA's viewers draw them: /device:GPU:<100 + 64 node + n>
    Viewer,
    /// Readable: /node:K/device:GPU:N, and a plane /node:K/clock_metadata
    Readable,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    args.memory.bound_rows();
    let name = args.output.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let target = target(&name, args.names).with_context(|| args.output.display().to_string())?;
    let found = inputs(&args)?;
    let clocks = Clocks::find(&args, &found)?;
    clocks.notes.iter().for_each(|note| output::remark(note));

    let parent = folder_of(&args.output);
    let mut outputs = Outputs::into_directory(parent)?;
    let mut document = metadata::metadata(&args.output, &clocks);
    let mut lost = LeftOut::default();
    outputs.write(&name, |file| {
        let mut encoder = Encoding::of_name(&name).encoder(file)?;
        let highest = Rank(found.files.len().saturating_sub(1) as u32);
        let spool = || tempfile::tempfile_in(parent).with_context(|| parent.display().to_string());
        let sink = CombinedFile::new(target, &mut encoder, highest, spool)?;
        lost = combine(&args, &found, &clocks, (target, sink), &mut document)?;
        encoder.finish().map_err(anyhow::Error::from)
    })?;
    document.left_out = lost.iter().map(|(kind, count)| (kind.name().into(), count)).collect();
    let json = serde_json::to_string_pretty(&document)?;
    outputs.write(&metadata::name(&name), |file| Ok::<_, anyhow::Error>(writeln!(file, "{json}")?))?;
    outputs.commit()?;
    document.skipped.iter().for_each(|skipped| output::remark(&format!("skipped {skipped}")));
    if let Some(words) = lost.in_words() {
        output::remark(&format!("{name}: not in the output, because the format cannot hold it: {words}"));
    }
    output::answer(&match args.format {
        Format::Table => metadata::summary(&document),
        Format::Json => json,
    })?;
    let broken = document.validation.is_some_and(|document| document.violations > 0);
    Ok(if broken { ExitCode::from(BROKEN) } else { ExitCode::SUCCESS })
}

fn target(name: &str, names: NamesArg) -> Result<CombinedFormat> {
    let bare = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    if bare.ends_with(".tar") {
        return Ok(CombinedFormat::Archive);
    }
    Ok(match TraceFormat::of_name(name) {
        Some(TraceFormat::XSpace) => CombinedFormat::XSpace(names.into()),
        Some(TraceFormat::Json) => CombinedFormat::Json,
        Some(TraceFormat::Perfetto) => CombinedFormat::Perfetto,
        Some(TraceFormat::Recording) | None => {
            bail!("the suffix is not that of a format for several ranks; use .xplane.pb, .xspace, .json, .pftrace or .tar")
        }
    })
}

impl From<NamesArg> for PlaneNames {
    fn from(names: NamesArg) -> Self {
        match names {
            NamesArg::Viewer => Self::Viewer,
            NamesArg::Readable => Self::Readable,
        }
    }
}

/// Reads, aligns and writes all traces in order.
fn combine(
    args: &Args,
    found: &inputs::Inputs,
    clocks: &Clocks,
    (target, mut sink): (CombinedFormat, CombinedFile<'_>),
    document: &mut CombineDocument,
) -> Result<LeftOut> {
    let mut combining = Combining {
        args,
        clocks,
        format: target.format(),
        // A number that is a position would be that of another trace.
        partial: args.partial && !found.by_position,
        patterns: CommPatterns::default(),
        numbering: Numbering::new(found.by_position),
        evidence: args.validate.then(|| clocks.evidence()),
        lost: LeftOut::default(),
        document,
    };
    let bar = output::progress(found.files.len(), "combining");
    let ahead = Ahead { files: &found.files, reading: WHOLE, memory_bytes: args.memory.bytes(), held: clocks.held.as_ref() };
    let all: Result<()> = ahead.read_in_order(|members| {
        bar.set_position(members.first().map_or(0, |(file, _)| *file as u64));
        let part = |(file, member): (usize, Member)| combining.part(&found.files[file], member).transpose();
        let parts: Vec<CombinedPart> = members.into_iter().filter_map(part).collect::<Result<_>>()?;
        Ok(sink.add(parts)?)
    });
    bar.finish_and_clear();
    all?;
    let Combining { evidence, lost, document, .. } = combining;
    if document.nodes.is_empty() {
        let why = document.skipped.first().map_or_else(String::new, |first| format!(" The first of them: {first}"));
        bail!("none of the {} files found is a trace.{why}", found.files.len());
    }
    document.validation = evidence.map(|evidence| validation_document(&Validated::of(evidence), title(&found.paths)));
    sink.finish()?;
    Ok(lost)
}

/// How traces are read that are written.
const WHOLE: Reading = Reading { args: ArgsPolicy::All, scope: Scope::All };

/// Traces on their way, and what is known of those so far.
struct Combining<'a> {
    args: &'a Args,
    clocks: &'a Clocks,
    format: TraceFormat,
    /// Whether it goes on without those that cannot be read.
    partial: bool,
    patterns: CommPatterns,
    numbering: Numbering,
    evidence: Option<Evidence>,
    lost: LeftOut,
    document: &'a mut CombineDocument,
}

impl Combining<'_> {
    /// What `member` of `file` gives to the combined file, on the common clock.
    fn part(&mut self, file: &InputFile, member: Member) -> Result<Option<CombinedPart>> {
        let Some(mut trace) = self.given(file, member)? else { return Ok(None) };
        let Self { args, clocks, .. } = *self;
        let (number, numbered_by) = self.numbering.number(&trace, clocks.rank(&trace));
        trace.provenance.rank = Some((Rank(number), rankscope_trace::RankSource::Order));
        if args.keep_original {
            keep_original(&mut trace);
        }
        GpuClock::add_events(&mut trace);
        let aligned = clocks.place(number, &mut trace)?;
        print::events(args, number, &trace)?;
        if let Some(evidence) = &mut self.evidence {
            evidence.hear(&trace, &aligned, &self.patterns);
        }
        self.lost.merge(&left_out(&trace, self.format));
        let facts = aligned.facts();
        let node = combined_node(number, numbered_by, &trace, aligned);
        let ahead_ns = node.offset_ns;
        self.document.nodes.push(node);
        Ok(Some(CombinedPart { number, trace, ahead_ns, facts }))
    }

    /// The trace that `member` of `file` is. What the job goes without is none; where it was not looked through as a whole, other JSON in a
    /// directory is passed over, and with `partial` whatever cannot be read.
    fn given(&mut self, file: &InputFile, member: Member) -> Result<Option<Trace>> {
        let Member { label, trace } = member;
        match trace {
            _ if self.clocks.leaves_out(&label) => Ok(None),
            Ok(trace) => Ok(Some(trace)),
            Err(error) => {
                let unread = unread(file, label.clone(), &error);
                if !self.partial && !unread.may_be_something_else() {
                    return Err(anyhow!(error).context(label));
                }
                self.document.skipped.push(unread.to_string());
                Ok(None)
            }
        }
    }
}
