//! Writing spans for other tools. What a format has no place for is said on stderr.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use rankscope_analyze::spans::{By, Selection, SpansOf, Stacks, counts};
use rankscope_cli::output;
use rankscope_pipeline::{ReadSpans, title};
use rankscope_profile::{folded, otlp, pprof, speedscope};
use rankscope_run::{refuse_same_file, write_encoded};

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Export {
    Flame(Flame),
    Pprof,
    Otlp,
}

/// Formats of flame graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Flame {
    /// A line a stack, weights in nanoseconds of self time
    Folded,
    /// A profile a thread, with frames in order of time
    Speedscope,
}

pub(super) fn write(
    read: &ReadSpans,
    export: Export,
    by: By,
    selection: Selection<'_>,
    inputs: &[PathBuf],
    path: Option<&Path>,
) -> Result<()> {
    let spans = read.spans();
    let shown: u64 = if export == Export::Otlp { 0 } else { spans.iter().map(|of| counts(of.nesting).2).sum() };
    if shown > 0 && spans.iter().all(|of| counts(of.nesting).1 == 0) {
        bail!(
            "{}: all of its {shown} spans are asynchronous, which no thread's flame graph holds; --otlp writes them",
            title(inputs)
        );
    }
    let fill = |out: &mut dyn Write| bytes(&spans, export, by, selection, &title(inputs), out);
    match path {
        Some(path) => {
            refuse_same_file(inputs, path)?;
            write_encoded(path, |encoder| fill(encoder).with_context(|| path.display().to_string()))?;
        }
        None if export == Export::Pprof => bail!("--pprof writes a binary file: name it with -o, for instance -o spans.pb.gz"),
        None => {
            let mut text = Vec::new();
            fill(&mut text)?;
            output::answer(&String::from_utf8_lossy(&text))?;
        }
    }
    read.skipped().iter().for_each(|skipped| output::remark(&format!("skipped {skipped}")));
    if shown > 0 {
        output::remark(&format!("left out: {shown} async spans, which belong to no thread; --otlp writes them"));
    }
    Ok(())
}

fn bytes(
    spans: &[SpansOf<'_>],
    export: Export,
    by: By,
    selection: Selection<'_>,
    title: &str,
    out: &mut dyn Write,
) -> Result<()> {
    let mut out = BufWriter::new(out);
    let version = env!("CARGO_PKG_VERSION");
    match export {
        Export::Flame(Flame::Folded) => folded(&stacks(spans, by, selection), &mut out)?,
        Export::Flame(Flame::Speedscope) => {
            speedscope(spans, selection, (title, &format!("rankscope {version}")), &mut out)?;
        }
        Export::Pprof => {
            let bounds = || spans.iter().filter_map(|of| of.trace.bounds_ns());
            let start_ns = bounds().map(|(start, _)| start).min().unwrap_or(0);
            let end_ns = bounds().map(|(_, end)| end).max().unwrap_or(0);
            pprof(&stacks(spans, by, selection), (start_ns, end_ns), &mut out)?;
        }
        Export::Otlp => otlp(spans, selection, version, &mut out)?,
    }
    Ok(out.flush()?)
}

fn stacks(spans: &[SpansOf<'_>], by: By, selection: Selection<'_>) -> Stacks {
    let stacks = Stacks::of(spans, by, selection);
    if stacks.deeper > 0 {
        output::remark(&format!("{} spans lie deeper than a stack goes; their time is of its last frame", stacks.deeper));
    }
    stacks
}
