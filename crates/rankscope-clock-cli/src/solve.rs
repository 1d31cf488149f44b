//! `rankscope clock solve`: windows of all nodes in, the clocks of all nodes out.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_clock::NodeId;
use rankscope_clock::files::{OffsetRow, encode_offset, encode_offsets_header};
use rankscope_clock::solved::{HowSolved, Readings, SolveError, Solved, beside, solved};
use rankscope_document::{ClockDocument, ClockPoint, NodeClock};
use rankscope_pipeline::{ClockRounds, node_readings, title, windows};
use rankscope_report::{ClockTables, clock_terminal};
use rankscope_run::{clock_files, write_file};
use serde_json::{Value, json};

use super::read;

/// Solve recorded windows of all nodes into the offset of every node in every round.
///
/// Reads windows-nodeK.jsonl and probe_windows_nodeK.jsonl. Windows are put into rounds by time; numbers of rounds are a
/// hint only. Offsets are smoothed over all rounds, with how far off they are likely to be. Pairs of nodes that disagree with
/// all others are shown: packets between them take longer one way than the other, which no bound can tell.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Files of windows, or directories that hold them
    #[arg(value_name = "FILES", required_unless_present = "input_files")]
    paths: Vec<PathBuf>,
    /// The same, as a comma-separated list
    #[arg(long, value_name = "LIST", value_delimiter = ',', alias = "input_files")]
    input_files: Vec<PathBuf>,
    #[command(flatten)]
    how: How,
    /// File for the offsets, one line per node and round [nothing is written unless given]
    #[arg(short, long, value_name = "FILE", aliases = ["output_offsets", "output-offsets"])]
    out: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// How nodes are placed.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct How {
    /// Node in whose clock the others are expressed
    #[arg(long, value_name = "NODE", default_value_t = 0, alias = "reference_node")]
    reference_node: u32,
    /// Leave out edges with fewer complete exchanges
    #[arg(long, value_name = "N", default_value_t = 12, alias = "min_pairs")]
    min_pairs: u32,
    /// Leave out edges that lost a greater part of their packets
    #[arg(long, value_name = "RATIO", default_value_t = 0.6, alias = "max_loss_ratio")]
    max_loss_ratio: f64,
    /// Weight of a new offset against the prediction of the round before; 1 uses the new offset alone
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, alias = "smoothing_factor")]
    smoothing_factor: f64,
    /// Expected number of nodes; -1 takes those found
    #[arg(long, value_name = "N", default_value_t = -1, allow_negative_numbers = true, alias = "num_nodes")]
    num_nodes: i64,
}

impl How {
    /// Without flags.
    fn plain(&self) -> HowSolved {
        let mut how = HowSolved::for_reference(NodeId(self.reference_node));
        how.round.pairs_min = self.min_pairs;
        how.round.loss_ratio_max = self.max_loss_ratio;
        how.smoothing_factor = self.smoothing_factor;
        how.nodes_expected = u32::try_from(self.num_nodes).unwrap_or(0);
        how
    }
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let paths = [args.paths, args.input_files].concat();
    let files = clock_files(&paths)?;
    if files.windows.is_empty() {
        let title = title(&paths);
        bail!("{title}: no file of windows (windows-nodeK.jsonl or probe_windows_nodeK.jsonl) is there, only offsets");
    }
    let solved = solved_files(&files.windows, &node_readings(&paths)?, &args.how)?;
    if let Some(out) = &args.out {
        write(out, &solved)?;
    }
    let document = ClockRounds::of_solved(&solved).document(title(&paths), read::notes(&solved.oddities));
    match args.format {
        Format::Json => output::answer(&as_json(&solved, &document)?.to_string())?,
        Format::Table => {
            let style = output::style();
            output::answer(&clock_terminal(&document, ClockTables::Nodes, style))?;
            if let Some(out) = &args.out {
                output::remark_apart(&format!("written: {}", out.display()));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Solves windows that lie in files, for whoever wants offsets. What witnesses say of them is among the oddities.
pub(crate) fn solved_files(paths: &[PathBuf], readings: &Readings, how: &How) -> Result<Solved> {
    let mut solved = solved(windows(paths)?, &how.plain()).map_err(|error| match &error {
        SolveError::SmoothingFactor(factor) => anyhow!("--smoothing-factor {factor}: {}", error.reason()),
        SolveError::NoReference { reference, .. } => anyhow!("--reference-node {reference}: {}", error.reason()),
        _ => error.into(),
    })?;
    solved.oddities.extend(beside(&solved.solutions, NodeId(how.reference_node), &readings.witnesses));
    Ok(solved)
}

fn write(out: &Path, solved: &Solved) -> Result<()> {
    write_file(out, |file| {
        file.write_all(encode_offsets_header(&solved.header).as_bytes())?;
        for row in &solved.rows {
            file.write_all(encode_offset(row).as_bytes())?;
        }
        Ok(())
    })
}

/// The lines of the file and what all rounds together say, as one document.
fn as_json(solved: &Solved, document: &ClockDocument) -> Result<Value> {
    let parsed = |line: String| serde_json::from_str::<Value>(&line).context("a line just written");
    let points = document.nodes.iter().flat_map(|clock| clock.points.iter().map(|point| ((clock.node, point.round), point)));
    let points: BTreeMap<(u32, u64), &ClockPoint> = points.collect();
    let offset = |row: &OffsetRow| {
        let mut line = parsed(encode_offset(row))?;
        if let Some(point) = points.get(&(row.node.0, row.round)) {
            line["smoothed_ns"] = json!(point.smoothed_ns);
            line["smoothed_sigma_ns"] = json!(point.smoothed_sigma_ns);
        }
        Ok(line)
    };
    let offsets = solved.rows.iter().map(offset).collect::<Result<Vec<_>>>()?;
    let path = |clock: &NodeClock| json!({ "node_id": clock.node, "path_sigma_ns": clock.path_sigma_ns });
    let paths: Vec<Value> = document.nodes.iter().map(path).collect();
    let header = parsed(encode_offsets_header(&solved.header))?;
    Ok(json!({ "header": header, "offsets": offsets, "paths": paths, "pairs": document.pairs, "notes": document.notes }))
}
