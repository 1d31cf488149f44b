//! `rankscope clock show`: where every node's clock stood over time, as tables and as a page.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_clock::files::solutions;
use rankscope_clock::solved::beside;
use rankscope_document::ClockDocument;
use rankscope_pipeline::{ClockRounds, node_readings};
use rankscope_report::{ClockTables, clock_html, clock_terminal};
use rankscope_run::{clock_files, write_file};

use super::read;
use super::solve::{How, solved_files};

/// Show the offset of every node over time, with its guaranteed bound.
///
/// Reads offsets.jsonl; without one, reads the windows of all nodes and solves them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run or clock directory, offsets.jsonl, or files of windows
    #[arg(required = true, value_name = "FILES")]
    paths: Vec<PathBuf>,
    /// Write a page with a plot
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Show this node only
    #[arg(long, value_name = "NODE")]
    node: Option<u32>,
    #[command(flatten)]
    how: How,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let mut drawn = from_files(&args)?;
    if let Some(node) = args.node {
        if drawn.nodes.iter().all(|known| known.node != node) {
            let known: Vec<_> = drawn.nodes.iter().take(12).map(|known| known.node.to_string()).collect();
            bail!("{}: node {node} does not exist; the nodes are {}", drawn.title, known.join(", "));
        }
        drawn.nodes.retain(|known| known.node == node);
    }
    if let Some(path) = &args.html {
        let page = clock_html(&drawn)?;
        write_file(path, |file| anyhow::Ok(file.write_all(page.as_bytes())?))?;
    }
    match args.format {
        Format::Json => output::answer(&serde_json::to_string(&drawn)?)?,
        Format::Table => {
            let style = output::style();
            output::answer(&clock_terminal(&drawn, ClockTables::Rounds, style))?;
            if let Some(path) = &args.html {
                output::remark_apart(&format!("written: {}", path.display()));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn from_files(args: &Args) -> Result<ClockDocument> {
    let files = clock_files(&args.paths)?;
    let title = rankscope_pipeline::title(&args.paths);
    let readings = node_readings(&args.paths)?;
    if files.offsets.is_empty() {
        let solved = solved_files(&files.windows, &readings, &args.how)?;
        let notes = read::notes(&solved.oddities);
        return Ok(ClockRounds::of_solved(&solved).document(title, notes));
    }
    let (offsets, mut notes) = read::offsets(&files.offsets)?;
    let reference = offsets.header.and_then(|header| header.reference);
    notes.extend(read::notes(&beside(&solutions(&offsets.rows), reference.unwrap_or_default(), &readings.witnesses)));
    Ok(ClockRounds::of_offsets(&offsets.rows, reference).document(title, notes))
}
