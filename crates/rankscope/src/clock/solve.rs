//! `rankscope clock solve`: windows of all nodes in, the clocks of all nodes out.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rankscope_clock::files::{OffsetRow, OffsetsHeader, encode_offset, encode_offsets_header};
use rankscope_clock::nodes::{Solution, SolveOptions, solve};
use rankscope_clock::rounds::{Round, Rounds, ease, rounds};
use rankscope_clock::{NodeId, NodeWindow};
use rankscope_report::{ClockTables, Note, NoteLevel, Style, clock_terminal};
use rankscope_run::{clock_files, write_file};
use serde_json::{Value, json};

use super::document::document;
use super::read;
use super::read::{Windows, note, offsets_header, windows};
use crate::output::{self, Format};

/// Solve recorded windows of all nodes into the offset of every node in every round.
///
/// Reads windows-nodeK.jsonl and probe_windows_nodeK.jsonl. Windows are put into rounds by time; numbers of rounds are a
/// hint only.
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
    /// As the options have it when none is given.
    pub(crate) fn usual(reference: NodeId) -> Self {
        Self { reference_node: reference.0, min_pairs: 12, max_loss_ratio: 0.6, smoothing_factor: 1.0, num_nodes: -1 }
    }
}

/// The clocks of all nodes in all rounds.
pub(crate) struct Solved {
    pub(super) header: OffsetsHeader,
    pub(super) rows: Vec<OffsetRow>,
    /// The rounds that the rows are of, in order of time.
    pub(crate) solutions: Vec<Solution>,
    /// What was odd.
    pub(crate) notes: Vec<Note>,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let paths = [args.paths, args.input_files].concat();
    let files = clock_files(&paths)?;
    if files.windows.is_empty() {
        let title = read::title(&paths);
        bail!("{title}: no file of windows (windows-nodeK.jsonl or probe_windows_nodeK.jsonl) is there, only offsets");
    }
    let mut solved = solved(read::windows(&files.windows)?, &args.how)?;
    if let Some(out) = &args.out {
        write(out, &solved)?;
    }
    match args.format {
        Format::Json => output::answer(&as_json(&solved)?.to_string())?,
        Format::Table => {
            let notes = std::mem::take(&mut solved.notes);
            let drawn = document(read::title(&paths), &solved.rows, solved.header.reference, notes);
            let style = Style { color: output::colored(), width: output::columns() };
            output::answer(&clock_terminal(&drawn, ClockTables::Nodes, style))?;
            if let Some(out) = &args.out {
                output::remark_apart(&format!("written: {}", out.display()));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Solves windows that lie in files, for whoever wants offsets.
pub(crate) fn solved_files(paths: &[PathBuf], how: &How) -> Result<Solved> {
    solved(windows(paths)?, how)
}

fn solved(mut read: Windows, how: &How) -> Result<Solved> {
    if !(how.smoothing_factor > 0.0 && how.smoothing_factor <= 1.0) {
        bail!("--smoothing-factor {}: must be greater than 0 and at most 1", how.smoothing_factor);
    }
    let reference = NodeId(how.reference_node);
    let windows = std::mem::take(&mut read.windows);
    let mut nodes = mentioned(&windows);
    nodes.extend((0..u32::try_from(how.num_nodes).unwrap_or(0)).map(NodeId));
    if !nodes.contains(&reference) {
        bail!("--reference-node {reference}: no window comes from this node or measures it; the nodes are {}", list(&nodes));
    }
    let header = offsets_header(&read, &nodes, reference);
    let found = rounds(windows, reference);
    let mut notes = read.notes;
    notes.extend(oddities(&found, &nodes));
    let solutions = solutions(&found, &nodes, how, &mut notes);
    let of_round =
        |(round, solution): (&Round, &Solution)| OffsetRow::of_solution(round.id, round.length, solution).collect::<Vec<_>>();
    let rows = found.rounds.iter().zip(&solutions).flat_map(of_round).collect();
    Ok(Solved { header, rows, solutions, notes })
}

fn solutions(found: &Rounds, nodes: &BTreeSet<NodeId>, how: &How, notes: &mut Vec<Note>) -> Vec<Solution> {
    let options = SolveOptions {
        pairs_min: how.min_pairs,
        loss_ratio_max: how.max_loss_ratio,
        ..SolveOptions::for_reference(NodeId(how.reference_node))
    };
    let mut solutions: Vec<Solution> = Vec::with_capacity(found.rounds.len());
    for round in &found.rounds {
        let before = solutions.last();
        let mut solution = solve(&round.windows, before, &options);
        // Whoever is expected and was not placed is told apart from whoever is not there at all.
        solution.unreachable = nodes.iter().filter(|node| !is_placed(&solution, **node)).copied().collect();
        if let Some(before) = before.filter(|_| how.smoothing_factor < 1.0) {
            ease(before, &mut solution, how.smoothing_factor);
        }
        notes.extend(remarks(round.id, &solution));
        solutions.push(solution);
    }
    solutions
}

fn is_placed(solution: &Solution, node: NodeId) -> bool {
    solution.nodes.iter().any(|estimate| estimate.node == node)
}

/// Nodes that sent windows, and those that they probed.
fn mentioned(windows: &[NodeWindow]) -> BTreeSet<NodeId> {
    let probed = |window: &NodeWindow| window.edges.iter().map(|record| record.edge.dst).collect::<Vec<_>>();
    windows.iter().flat_map(|window| std::iter::once(window.node).chain(probed(window))).collect()
}

/// What was odd about rounds.
fn oddities(found: &Rounds, nodes: &BTreeSet<NodeId>) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut caution = |text| notes.push(note(NoteLevel::Caution, text));
    if found.renumbered && found.rounds.len() > 1 {
        caution("the round numbers are ambiguous; rounds were grouped by time and numbered from 0".to_owned());
    } else if found.misnumbered > 0 {
        caution(format!("{} windows carry a round number that does not match their time", found.misnumbered));
    }
    if found.duplicates > 0 {
        caution(format!("{} windows are duplicates and were used once", found.duplicates));
    }
    for node in nodes {
        let missed = found.rounds.iter().filter(|round| round.windows.iter().all(|window| window.node != *node)).count();
        if missed > 0 {
            caution(format!("node {node} sent no window in {missed} of {} rounds", found.rounds.len()));
        }
    }
    let (many, most) = (notes.len(), 12);
    if many > most {
        notes.truncate(most);
        notes.push(note(NoteLevel::Caution, format!("and {} more nodes missed rounds", many - most)));
    }
    notes
}

/// What was odd about one round.
fn remarks(round: u64, solution: &Solution) -> Vec<Note> {
    let steps = solution.steps.iter().map(|step| {
        note(
            NoteLevel::Finding,
            format!("round {round}: the clock of node {} jumped by {} ns", step.node, step.size.as_nanos()),
        )
    });
    let rejected = solution.rejected.iter().map(|rejected| {
        let against: Vec<_> = rejected.against.iter().map(ToString::to_string).collect();
        let (edge, excess_ns, against) = (rejected.edge, rejected.excess.as_nanos(), against.join(", "));
        note(NoteLevel::Caution, format!("round {round}: edge {edge} was left out: it contradicts {against} by {excess_ns} ns"))
    });
    steps.chain(rejected).collect()
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

/// The lines of the file, as one document.
fn as_json(solved: &Solved) -> Result<Value> {
    let parsed = |line: String| serde_json::from_str::<Value>(&line).context("a line just written");
    let offsets = solved.rows.iter().map(|row| parsed(encode_offset(row))).collect::<Result<Vec<_>>>()?;
    Ok(json!({ "header": parsed(encode_offsets_header(&solved.header))?, "offsets": offsets, "notes": solved.notes }))
}

fn list(nodes: &BTreeSet<NodeId>) -> String {
    let shown: Vec<_> = nodes.iter().take(12).map(ToString::to_string).collect();
    let more = nodes.len().saturating_sub(12);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}
