//! Moves the bytes of all four exchanges of a layer through the buffers that a transport would use, and holds what arrives
//! against the plain reference. Gradients of keys are checked by sending ones: each token must get back how often it was used.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use rankscope_dispatch::movement::{self, ElementType, reference};
use rankscope_dispatch::{Batch, ContextTokens, Direction, Exchange, Rows};
use rankscope_plan_files::plan::{Plan, hash as plan_hash};
use rankscope_report::{bytes, columns, duration, paragraph};
use serde::Serialize;

use super::paths;
use super::row_args::{elements, elements_or_none};
use crate::output::{self, Format};

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

pub(super) fn element_type(name: &str) -> Result<ElementType, String> {
    let known = || ElementType::ALL.map(ElementType::as_str).join(", ");
    ElementType::named(name).ok_or_else(|| format!("one of {}, or numpy's and torch's names of these", known()))
}

pub(crate) fn run(input: &Path, args: &BytesArgs, format: Format) -> Result<ExitCode> {
    let plan = paths::load(input)?;
    let rows = Rows {
        hidden_q: args.hidden_q.unwrap_or(plan.rows.hidden_q),
        hidden_kv: args.hidden_kv.unwrap_or(plan.rows.hidden_kv),
        lse: args.lse.unwrap_or(plan.rows.lse),
        element_bytes: args.dtype.bytes() as u32,
    };
    let simulation = Simulation::of(&plan, &rows, args).with_context(|| input.display().to_string())?;
    output::answer(&match format {
        Format::Json => serde_json::to_string(&simulation)?,
        Format::Table => simulation.table(),
    })?;
    Ok(ExitCode::SUCCESS)
}

#[derive(Serialize)]
struct Simulation {
    schema: u32,
    kind: &'static str,
    plan_hash: String,
    world_size: u32,
    dtype: &'static str,
    contexts: Contexts,
    exchanges: Vec<Moved>,
    /// Always true: what differs from the reference is an error.
    verified: bool,
}

#[derive(Serialize)]
struct Contexts {
    tokens_per_task: u64,
    tokens_per_rank: u64,
    ratio: f64,
}

/// One exchange as it was moved.
#[derive(Serialize)]
struct Moved {
    direction: &'static str,
    bytes: u64,
    remote_bytes: u64,
    plan_seconds: f64,
    move_seconds: f64,
    ranks: Vec<RankBytes>,
}

#[derive(Serialize)]
struct RankBytes {
    rank: u32,
    send_bytes: u64,
    receive_bytes: u64,
    remote_send_bytes: u64,
    remote_receive_bytes: u64,
}

impl Simulation {
    fn of(plan: &Plan, rows: &Rows, args: &BytesArgs) -> Result<Self> {
        let batch = &plan.batch;
        let tokens = ContextTokens::new(batch)?;
        let directions = [Direction::Forward, Direction::Output, Direction::OutputGradient, Direction::Backward];
        let exchanges = directions.into_iter().map(|direction| moved(batch, rows, direction, args));
        Ok(Self {
            schema: 1,
            kind: "rankscope_dispatch_simulation",
            plan_hash: plan_hash(batch, &plan.rows),
            world_size: batch.world_size(),
            dtype: args.dtype.as_str(),
            contexts: Contexts { tokens_per_task: tokens.per_task, tokens_per_rank: tokens.per_rank, ratio: tokens.ratio() },
            exchanges: exchanges.collect::<Result<_>>()?,
            verified: true,
        })
    }

    fn table(&self) -> String {
        let mut text = format!("{} ranks, rows of {}: every byte arrived where it belongs\n\n", self.world_size, self.dtype);
        let row = |moved: &Moved| {
            let most = |of: fn(&RankBytes) -> u64| moved.ranks.iter().map(of).max().unwrap_or(0);
            let sizes =
                [moved.bytes, moved.remote_bytes, most(|rank| rank.remote_send_bytes), most(|rank| rank.remote_receive_bytes)];
            let times = [moved.plan_seconds, moved.move_seconds].map(|seconds| duration(seconds * 1e9));
            std::iter::once(moved.direction.to_owned()).chain(sizes.map(bytes)).chain(times).collect()
        };
        let head = ["exchange", "all bytes", "between ranks", "most sent", "most received", "planned in", "moved in"];
        let style = output::style();
        text += &columns(&head, self.exchanges.iter().map(row).collect(), style);
        let Contexts { tokens_per_task, tokens_per_rank, ratio } = self.contexts;
        let keys = format!(
            "keys: {tokens_per_rank} tokens are sent for the {tokens_per_task} that tasks use; \
             without de-duplication {ratio:.2} times as many"
        );
        text + "\n" + &paragraph(&keys, style)
    }
}

/// Moves one exchange and checks what arrives.
fn moved(batch: &Batch, rows: &Rows, direction: Direction, args: &BytesArgs) -> Result<Moved> {
    let start = Instant::now();
    let exchange = Exchange::new(batch, rows, direction)?;
    let plan_seconds = start.elapsed().as_secs_f64();
    fits(&exchange, direction, args.memory)?;

    let gradients = direction == Direction::Backward;
    let inputs = inputs(&exchange, gradients.then_some(args.dtype));
    let start = Instant::now();
    let arrived = movement::execute(&exchange, args.dtype, &inputs)?;
    let move_seconds = start.elapsed().as_secs_f64();
    let expected = reference::arrived(batch, &exchange.tensors, direction, &inputs);
    for (rank, (arrived, expected)) in arrived.iter().zip(&expected).enumerate() {
        // Of gradients, the reference has the queries only.
        for (tensor, (arrived, expected)) in exchange.tensors.iter().zip(arrived.iter().zip(expected)) {
            if arrived != expected {
                bail!(
                    "{}: rank {rank} received other {} rows than it should have; this is a bug",
                    direction.as_str(),
                    tensor.name
                );
            }
        }
    }
    if gradients {
        count_uses(batch, &exchange, args.dtype, &arrived)?;
    }
    let traffic = exchange.traffic();
    let remote = |messages: &[rankscope_dispatch::Message], rank| {
        messages.iter().filter(|message| message.peer != rank).map(|message| message.bytes).sum()
    };
    Ok(Moved {
        direction: direction.as_str(),
        bytes: traffic.pairs().iter().map(|pair| pair.2).sum(),
        remote_bytes: traffic.remote_bytes(),
        plan_seconds,
        move_seconds,
        ranks: exchange
            .ranks
            .iter()
            .map(|part| RankBytes {
                rank: part.rank.0,
                send_bytes: part.send_bytes,
                receive_bytes: part.receive_bytes,
                remote_send_bytes: remote(&part.sends, part.rank),
                remote_receive_bytes: remote(&part.receives, part.rank),
            })
            .collect(),
    })
}

/// Whether tensors, buffers and the reference fit into memory at the same time.
pub(super) fn fits(exchange: &Exchange, direction: Direction, memory: u64) -> Result<()> {
    let tensors = |rows: &[u64]| {
        exchange.tensors.iter().zip(rows).map(|(tensor, rows)| u128::from(tensor.row_bytes) * u128::from(*rows)).sum::<u128>()
    };
    let of_rank = |part: &rankscope_dispatch::RankExchange| {
        let buffers = u128::from(part.send_bytes) + u128::from(part.receive_bytes);
        // Sums of half types widen their tensor, and inputs that are summed are copied first.
        let sums = if direction == Direction::Backward { 3 } else { 1 };
        sums * (tensors(&part.input_rows) + tensors(&part.output_rows)) + tensors(&part.output_rows) + buffers
    };
    let needed: u128 = exchange.ranks.iter().map(of_rank).sum();
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

/// Bytes that differ from place to place; ones for gradients of keys.
fn inputs(exchange: &Exchange, ones: Option<ElementType>) -> Vec<Vec<Vec<u8>>> {
    let mut state = 1_u64;
    let mut noise = |bytes: u64| {
        let mut tensor = vec![0; bytes as usize];
        for word in tensor.chunks_mut(8) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            word.copy_from_slice(&(state ^ (state >> 32)).to_le_bytes()[..word.len()]);
        }
        tensor
    };
    let mut tensors = |rows: &[u64]| {
        let sizes = exchange.tensors.iter().zip(rows).map(|(tensor, rows)| tensor.row_bytes * rows);
        sizes
            .enumerate()
            .map(|(index, bytes)| match ones.filter(|_| index > 0) {
                Some(element) => element.encode(1).repeat((bytes / element.bytes()) as usize),
                None => noise(bytes),
            })
            .collect()
    };
    exchange.ranks.iter().map(|part| tensors(&part.input_rows)).collect()
}

/// Whether every token's gradient is the number of tasks that used it. Counts that the type cannot hold exactly are passed over.
fn count_uses(batch: &Batch, exchange: &Exchange, element: ElementType, arrived: &[Vec<Vec<u8>>]) -> Result<()> {
    for ((rank, tensors), uses) in arrived.iter().enumerate().zip(reference::uses(batch)) {
        for (tensor, bytes) in exchange.tensors.iter().zip(tensors).skip(1).filter(|(tensor, _)| tensor.row_bytes > 0) {
            for (token, (row, &uses)) in bytes.chunks(tensor.row_bytes as usize).zip(&uses).enumerate() {
                let expected = element.encode(uses as u32);
                if uses <= element.exact_to() && row.chunks(expected.len()).any(|gradient| gradient != expected) {
                    bail!("backward: rank {rank}, token {token}: {} of ones is not {uses}; this is a bug", tensor.name);
                }
            }
        }
    }
    Ok(())
}
