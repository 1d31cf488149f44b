//! `rankscope dispatch plan`: documents in, who computes what out.

mod html;
mod settings;
mod table;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_dispatch::cost::Work;
use rankscope_dispatch::planner::bounded::{Caps, Options, explain};
use rankscope_dispatch::planner::split::SplitPlan;
use rankscope_dispatch::planner::{Goal, equal_flops, greedy, not_worse, place_evenly, place_in_order, place_on_ranks};
use rankscope_dispatch::{Assignment, Batch, HeadGroups, Pass, Rows};
use rankscope_plan_files::documents::{Documents, Lengths};
use rankscope_plan_files::plan::{MOST_ELEMENT_BYTES, MOST_RANKS};
use rankscope_plan_files::planned::{self, Answer, PassTime, Planned, SplitKv, exact};

use super::pass_arg::PassArg;
use super::paths;
use super::row_args::elements;
use settings::Settings;

/// Decide which rank computes which piece of attention
///
/// DOCS is a JSON list of document lengths in tokens, a list of such lists (one per rank), an object with `doc_lens`, `documents`,
/// `lengths`, `batches`, `seq_lens` or `cu_seqlens` (cumulative, from 0), or text with one length per line.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The documents; - for the standard input
    #[arg(value_name = "DOCS")]
    input: PathBuf,
    /// Ranks; unless DOCS says it
    #[arg(long, value_name = "W", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_RANKS)))]
    ranks: Option<u32>,
    /// The pass of a layer to plan for. A backward pass sends everything again that it needs: it keeps nothing of the forward one
    #[arg(long, value_enum, default_value_t = PassArg::Forward)]
    pass: PassArg,
    /// How far above its share of the work a rank may be
    #[arg(long, default_value_t = 0.05, allow_negative_numbers = true, value_parser = share)]
    eps: f64,
    /// Where documents lie
    #[arg(long, value_enum, default_value_t = Layout::InOrder)]
    layout: Layout,
    /// Tokens that a rank holds at most. Without it documents in order are spread evenly, or lie as DOCS lists them by rank
    #[arg(long, value_name = "TOKENS")]
    tokens_per_rank: Option<u64>,
    /// Who plans
    #[arg(long, value_enum, default_value_t = Planner::Bounded)]
    planner: Planner,
    /// Of the greedy planner: the need, as a share of the mean, at which a rank is content
    #[arg(long, default_value_t = 0.1, allow_negative_numbers = true, value_parser = share)]
    tolerance: f64,
    /// Which case, by number or name, of a file with several
    #[arg(long, value_name = "CASE")]
    case: Option<String>,
    /// Elements of a query row
    #[arg(long, value_name = "ELEMENTS", default_value_t = Rows::LLAMA_8B.hidden_q, value_parser = elements())]
    hidden_q: u32,
    /// Elements of a key row, and of a value row
    #[arg(long, value_name = "ELEMENTS", default_value_t = Rows::LLAMA_8B.hidden_kv, value_parser = elements())]
    hidden_kv: u32,
    /// Bytes of an element
    #[arg(long, value_name = "BYTES", default_value_t = Rows::LLAMA_8B.element_bytes,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ELEMENT_BYTES)))]
    element_bytes: u32,
    /// Draw the plan: load before and after, who sends to whom, where documents, or parts of their heads, are computed
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Explain every move: which rank it relieves, what it costs, and what it would cost elsewhere
    #[arg(long)]
    explain: bool,
    /// Let several ranks share the keys and values of a query and merge their outputs, where that moves less; with --network, where
    /// the pass is shorter for it. The figures are those without it; further lines say what it comes to and what is needed at least,
    /// and --out writes it
    #[arg(long)]
    split_kv: bool,
    /// Groups that heads are split into: ranks may compute a document for some of its heads. Both kinds of rows divide by it, and
    /// there are at most as many groups as key heads
    #[arg(long, value_name = "GROUPS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=MOST_HEAD_GROUPS))]
    head_groups: u32,
    /// Heads of a query row, of all groups together; each has a log-sum-exp where outputs are merged [default: one for every 128
    /// elements]
    #[arg(long, value_name = "HEADS", value_parser = elements())]
    heads: Option<u32>,
    /// Write the plan: JSON, or compact if the name ends in .rkd
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    /// What the answer looks like
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// No model has more key heads.
const MOST_HEAD_GROUPS: i64 = 1 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Layout {
    /// In the order of DOCS, or on the ranks that DOCS lists them for
    InOrder,
    /// Where the plan is best; ranks hold at most 1 % more tokens than the mean
    Choose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Planner {
    /// Fewest bytes, with every rank within its limit
    Bounded,
    /// DistCA's planner; nothing limits the heaviest rank, but a plan that makes it heavier is dropped
    Greedy,
    /// DistCA's older planner: spreads the largest document of the busiest rank; documents lie whole on ranks
    EqualFlops,
    /// The fewest bytes there are in whole blocks of 128 tokens, by going through all plans; for a dozen blocks
    Exact,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let documents = paths::documents(&args.input, args.case.as_deref())?;
    let rows = Rows { hidden_q: args.hidden_q, hidden_kv: args.hidden_kv, lse: 0, element_bytes: args.element_bytes };
    let groups = HeadGroups::new(args.head_groups).context("--head-groups 0: all heads are one group at least")?;
    let by_heads = groups != HeadGroups::ONE;
    ensure!(
        !by_heads || matches!(args.planner, Planner::Bounded | Planner::Exact),
        "--head-groups is for the planners bounded and exact"
    );
    let all_rows = rows;
    let rows = groups.rows(&rows).with_context(|| format!("--head-groups {}", groups.get()))?;
    let pass = Pass::from(args.pass);
    let options = args.settings.options(args.eps, &rows, pass)?;
    let hardware = args.settings.hardware()?;
    ensure!(
        hardware.is_none() || args.planner == Planner::Bounded,
        "--network is for the bounded planner: the others do not look at time"
    );
    let pace = hardware.as_ref().map(|hardware| hardware.pace(&rows, pass));
    let goal = pace.map_or(Goal::FewestBytes, Goal::ShortestTime);

    let started = Instant::now();
    let found = match by_heads {
        false => planned(args, &documents, &options, goal),
        true => {
            // Where documents lie is a matter of all heads, and caps are of those that compute parts of them.
            let whole = Options { caps: Caps::default(), ..args.settings.options(args.eps, &all_rows, pass)? };
            let exactly = args.planner == Planner::Exact;
            planned(args, &documents, &whole, Goal::FewestBytes).and_then(|found| {
                let plan = |all: &Batch| if exactly { exact(all, &options) } else { goal.plan(all, &options) };
                Ok(found.of_heads(groups, &options, plan)?)
            })
        }
    };
    let Planned { layout, plan, placement, .. } = found.with_context(|| args.input.display().to_string())?;
    let elapsed = started.elapsed();

    let moves = if args.explain { Some(explain(&layout, &plan, &options)?) } else { None };
    let split = if args.split_kv { Some(divided(args, groups, goal, [&layout, &plan], &options, &rows)?) } else { None };
    if let Some(path) = &args.out {
        match &split {
            Some((split, rows)) => paths::save(path, Assignment::from(&split.batch).of_heads(groups)?, rows)?,
            None => paths::save(path, Assignment::from(&plan).of_heads(groups)?, &rows)?,
        }
    }
    let split = split.map(|(split, _)| {
        let time = pace.map(|pace| PassTime::of_split(&pace, &layout, &split, &options)).transpose()?;
        Ok::<_, rankscope_dispatch::Error>(SplitKv::new(&split, &layout, &plan, &options)?.of_pass(pass, time))
    });
    let split = split.transpose()?;
    let answer = Answer::new(&layout, &plan, &options, rows.element_bytes, args.planner.into(), elapsed)?
        .placed(placement)
        .of_heads(groups)
        .of_pass(pass, pace.map(|pace| PassTime::of(&pace, &layout, &plan, &options)).transpose()?)
        .explained(moves)
        .splitting(split);
    if let Some(path) = &args.html {
        let assignment = Assignment::from(&plan).of_heads(groups)?;
        let drawn = html::document(&args.input.display().to_string(), &assignment, &rows, &answer)?;
        paths::write(path, rankscope_report::dispatch_html(&drawn)?.as_bytes())?;
    }
    match args.format {
        Format::Json => output::answer(&serde_json::to_string(&answer)?)?,
        Format::Table => output::answer(&table::table(&answer))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The plan with keys and values split, and its rows, which are of one group of heads.
fn divided(
    args: &Args,
    groups: HeadGroups,
    goal: Goal<'_>,
    [layout, plan]: [&Batch; 2],
    options: &Options,
    rows: &Rows,
) -> anyhow::Result<(SplitPlan, Rows)> {
    let heads = groups.heads_of(rows, args.heads).with_context(|| format!("--heads {}", args.heads.unwrap_or_default()))?;
    let lse_bytes = u64::from(heads) * u64::from(Rows::lse_bytes(rows.element_bytes));
    let split = goal.split(layout, plan, options, lse_bytes)?;
    let rows = split.rows(rows);
    Ok((split, rows))
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| share.is_finite() && *share >= 0.0);
    share.ok_or_else(|| "a share is a number of zero or more, such as 0.05".to_owned())
}

fn planned(args: &Args, documents: &Documents, options: &Options, goal: Goal) -> anyhow::Result<Planned> {
    let given = as_given(args, documents)?;
    let by_planner = |layout: &Batch| plan(args, documents, layout, options, goal);
    match args.layout {
        Layout::InOrder => Planned::given(given, by_planner),
        Layout::Choose => {
            ensure!(
                args.planner != Planner::EqualFlops,
                "the equal-flops planner takes whole documents on ranks: leave --layout choose out"
            );
            Planned::chosen(&given, tokens_per_rank(args, documents), options, goal, args.planner.into(), by_planner)
        }
    }
}

fn tokens_per_rank(args: &Args, documents: &Documents) -> Option<u64> {
    args.tokens_per_rank.or(documents.tokens_per_rank)
}

/// Documents in order, or where the file says that they lie.
fn as_given(args: &Args, documents: &Documents) -> anyhow::Result<Batch> {
    let tokens_per_rank = tokens_per_rank(args, documents);
    let world_size = args.ranks.or(documents.world_size);
    if let (Lengths::PerRank(lists), None) = (&documents.lengths, tokens_per_rank) {
        let listed = lists.len();
        return match world_size {
            Some(ranks) if ranks as usize != listed => bail!("{listed} lists of documents for {ranks} ranks"),
            _ => Ok(place_on_ranks(lists)?),
        };
    }
    let lengths = documents.lengths.in_order();
    let world_size = world_size.context("the number of ranks is missing: give --ranks")?;
    ensure!(world_size <= MOST_RANKS, "{world_size} ranks; plans are for {} at most", MOST_RANKS);
    Ok(match tokens_per_rank {
        Some(tokens_per_rank) => place_in_order(&lengths, world_size, tokens_per_rank)?,
        None => place_evenly(&lengths, world_size)?,
    })
}

fn plan(args: &Args, documents: &Documents, layout: &Batch, options: &Options, goal: Goal) -> anyhow::Result<Batch> {
    let kept = |plan| not_worse(layout, plan, &options.work, &options.weights);
    Ok(match args.planner {
        Planner::Bounded => goal.plan(layout, options)?,
        Planner::Greedy => kept(greedy(layout, args.tolerance)?)?,
        Planner::Exact => {
            ensure!(options.work == Work::Cells, "the exact planner balances cells, not measured time");
            exact(layout, options)?
        }
        Planner::EqualFlops => match &documents.lengths {
            Lengths::PerRank(lists) => kept(equal_flops(lists)?)?,
            Lengths::InOrder(_) => bail!("the equal-flops planner takes whole documents on ranks: give one list per rank"),
        },
    })
}

impl From<Planner> for planned::Planner {
    fn from(planner: Planner) -> Self {
        match planner {
            Planner::Bounded => Self::Bounded,
            Planner::Greedy => Self::Greedy,
            Planner::EqualFlops => Self::EqualFlops,
            Planner::Exact => Self::Exact,
        }
    }
}
