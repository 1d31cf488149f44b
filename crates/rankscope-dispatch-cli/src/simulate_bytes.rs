//! Moves the bytes of the exchanges of a layer, or of one pass of it, through the buffers that a transport would use, and holds what arrives
//! against the plain reference. Gradients of keys are checked by sending ones: each token must get back how often it was used.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_dispatch::movement::{self, ElementType, proof};
use rankscope_dispatch::{Direction, Exchange, Rows};
use rankscope_plan_files::plan::Plan;
use rankscope_plan_files::simulated::{Contexts, Moved, RankBytes, Simulation};
use rankscope_report::{bytes, columns, duration, paragraph};

use super::pass_arg::{PassArg, exchanges};
use super::paths;
use super::row_args::{elements, elements_or_none};

/// How rows look while they are moved.
#[derive(Debug, clap::Args)]
pub(crate) struct BytesArgs {
    /// Element type in which gradients are summed
    #[arg(long, value_name = "TYPE", default_value = "bf16", value_parser = element_type)]
    dtype: ElementType,
    /// Elements of a query row, instead of the plan's
    #[arg(long, value_name = "ELEMENTS", value_parser = elements())]
    hidden_q: Option<u32>,
    /// Elements of a key row, instead of the plan's
    #[arg(long, value_name = "ELEMENTS", value_parser = elements())]
    hidden_kv: Option<u32>,
    /// Elements of log-sum-exp beside an output row, instead of the plan's
    #[arg(long, value_name = "ELEMENTS", value_parser = elements_or_none())]
    lse: Option<u32>,
    /// Memory that the simulation may use, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 30)]
    memory: u64,
}

pub(crate) fn element_type(name: &str) -> Result<ElementType, String> {
    let known = || ElementType::ALL.map(ElementType::as_str).join(", ");
    ElementType::named(name).ok_or_else(|| format!("one of {}, or numpy's and torch's names of these", known()))
}

pub(crate) fn run(input: &Path, args: &BytesArgs, pass: Option<PassArg>, format: Format) -> Result<ExitCode> {
    let plan = paths::load(input)?;
    let rows = Rows {
        hidden_q: args.hidden_q.unwrap_or(plan.rows.hidden_q),
        hidden_kv: args.hidden_kv.unwrap_or(plan.rows.hidden_kv),
        element_bytes: args.dtype.bytes() as u32,
        ..plan.rows
    };
    let rows = Rows { lse: args.lse.unwrap_or(merging(&plan, rows).lse), ..rows };
    let simulation = simulated(&plan, &rows, args, pass).with_context(|| input.display().to_string())?;
    output::answer(&match format {
        Format::Json => serde_json::to_string(&simulation)?,
        Format::Table => table(&simulation),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn simulated(plan: &Plan, rows: &Rows, args: &BytesArgs, pass: Option<PassArg>) -> Result<Simulation> {
    let exchanges = exchanges(pass).into_iter().map(|direction| moved(plan, rows, direction, args));
    let exchanges = exchanges.collect::<Result<_>>();
    Ok(Simulation::new(plan, args.dtype, exchanges?)?)
}

/// Rows that were changed, with a log-sum-exp for each of the plan's heads if outputs are merged, or of one head where they do not
/// divide.
pub(crate) fn merging(plan: &Plan, rows: Rows) -> Rows {
    if !plan.assignment.merges() {
        return rows;
    }
    let heads = plan.rows.lse_heads().filter(|heads| *heads > 0 && rows.hidden_q.is_multiple_of(*heads));
    rows.with_lse_of(heads.unwrap_or(1))
}

/// Moves one exchange and checks what arrives.
fn moved(plan: &Plan, rows: &Rows, direction: Direction, args: &BytesArgs) -> Result<Moved> {
    let (exchange, planned) = timed(|| plan.assignment.exchange(rows, direction));
    let exchange = exchange?;
    fits(&exchange, direction, args.memory)?;
    let inputs = proof::inputs(&plan.assignment, &exchange, direction, args.dtype);
    let (arrived, moving) = timed(|| movement::execute(&exchange, args.dtype, &inputs));
    proof::verify(&plan.assignment, &exchange, direction, args.dtype, &inputs, &arrived?)?;
    Ok(Moved::new(&exchange, direction, planned, moving))
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}

/// Whether tensors, buffers and the reference fit into memory at the same time.
pub(crate) fn fits(exchange: &Exchange, direction: Direction, memory: u64) -> Result<()> {
    let needed = proof::memory_bytes(exchange, direction);
    if needed > u128::from(memory) {
        let times = needed.div_ceil(u128::from(memory).max(1));
        bail!(
            "moving the {} exchange takes {} and --memory allows {}; rows {times} times as narrow (--hidden-q, --hidden-kv) fit",
            direction.as_str(),
            bytes(u64::try_from(needed).unwrap_or(u64::MAX)),
            bytes(memory)
        );
    }
    Ok(())
}

fn table(simulation: &Simulation) -> String {
    let mut text = format!(
        "{} ranks, rows of {}: every byte arrived where it belongs\n\n",
        simulation.world_size,
        simulation.dtype.as_str()
    );
    let row = |moved: &Moved| {
        let most = |of: fn(&RankBytes) -> u64| moved.ranks.iter().map(of).max().unwrap_or(0);
        let sizes =
            [moved.bytes, moved.remote_bytes, most(|rank| rank.remote_send_bytes), most(|rank| rank.remote_receive_bytes)];
        let times = [moved.plan_seconds, moved.move_seconds].map(|seconds| duration(seconds * 1e9));
        std::iter::once(moved.direction.as_str().to_owned()).chain(sizes.map(bytes)).chain(times).collect()
    };
    let head = ["exchange", "all bytes", "between ranks", "most sent", "most received", "planned in", "moved in"];
    let style = output::style();
    text += &columns(&head, simulation.exchanges.iter().map(row).collect(), style);
    let Contexts { tokens_per_task, tokens_per_rank, ratio, .. } = simulation.contexts;
    let keys = format!(
        "keys: {tokens_per_rank} tokens are sent for the {tokens_per_task} that tasks use; \
         without de-duplication {ratio:.2} times as many"
    );
    text + "\n" + &paragraph(&keys, style)
}
