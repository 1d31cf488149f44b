//! `cargo xtask bench dispatch`: what plans for context-parallel attention cost and how good they are, beside the original.
//!
//! An example of rankscope-dispatch measures, built as the product is, on one core. The original's figures were measured once
//! with torch 2.15 on one thread and are carried here; `--peers` runs its plainest step again where torch is installed
//! (RANKSCOPE_PEERS_TORCH names the python): sums of a dense one-hot tensor, which is what its time goes into.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::cargo;

/// Options of `cargo xtask bench dispatch`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
    /// Run the original's dense step with the torch of RANKSCOPE_PEERS_TORCH too, at 64 and 256 ranks.
    #[arg(long)]
    peers: bool,
}

/// The original's milliseconds: all metadata of a batch, then the planner, by ranks (dispatch spec 5).
const ORIGINAL_METADATA_MS: [(&str, f64); 2] = [("64", 90.2), ("1024", 41_700.0)];
const ORIGINAL_PLANNER_MS: [(&str, f64); 2] = [("64", 5.0), ("1024", 1_700.0)];

/// Runs the benchmark.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut figures = figures()?;
    if args.peers {
        figures["peers"] = peers()?;
    }
    match args.format.as_str() {
        "json" => println!("{figures}"),
        _ => print!("{}", markdown(&figures)),
    }
    Ok(())
}

fn figures() -> Result<Value> {
    let example = ["run", "--release", "--locked", "--quiet", "--package", "rankscope-dispatch", "--example", "plan_figures"];
    let output = cargo::command(example.into_iter().chain(["--", "json"])).stderr(Stdio::inherit()).output();
    let output = output.context("failed to start cargo")?;
    if !output.status.success() {
        bail!("plan_figures failed ({})", output.status);
    }
    serde_json::from_slice(&output.stdout).context("failed to understand plan_figures")
}

/// The cumulative sum over a one-hot of shards by ranks that the original's offsets are made of.
fn peers() -> Result<Value> {
    let Some(python) = std::env::var_os("RANKSCOPE_PEERS_TORCH") else {
        return Ok(json!({ "skipped": "RANKSCOPE_PEERS_TORCH names no python with torch" }));
    };
    let output =
        Command::new(python).args(["-c", DENSE_STEP]).stderr(Stdio::inherit()).output().context("failed to start python")?;
    if !output.status.success() {
        bail!("the dense step failed ({})", output.status);
    }
    serde_json::from_slice(&output.stdout).context("failed to understand the dense step")
}

const DENSE_STEP: &str = r#"
import json, time, torch
torch.set_num_threads(1)
times = {}
for ranks in (64, 256):
    shards = 30 * ranks
    lengths = torch.randint(1, 512, (shards,))
    one_hot = torch.nn.functional.one_hot(torch.randint(0, ranks, (shards,)), ranks)
    begun = time.perf_counter()
    offsets = (one_hot * lengths[:, None]).cumsum(0)
    offsets = ((offsets - one_hot * lengths[:, None]) * one_hot).sum(1)
    times[str(ranks)] = (time.perf_counter() - begun) * 1e3
print(json.dumps({"dense_offsets_ms": times}))
"#;

fn markdown(figures: &Value) -> String {
    let mut text =
        String::from("| ranks | metadata, ms | the original's | planner, ms | the original's |\n|--:|--:|--:|--:|--:|\n");
    for ranks in ["64", "1024", "8192"] {
        let carried =
            |figures: [(&str, f64); 2]| figures.iter().find(|(size, _)| *size == ranks).map_or(Value::Null, |it| json!(it.1));
        text += &format!(
            "| {ranks} | {} | {} | {} | {} |\n",
            shown(&figures["metadata_ms"][ranks]),
            shown(&carried(ORIGINAL_METADATA_MS)),
            shown(&figures["planner_ms"][ranks]),
            shown(&carried(ORIGINAL_PLANNER_MS)),
        );
    }
    text += &format!(
        "\nOne rank's part of 1024: {} ms; of 8192: {} ms.\n",
        shown(&figures["slice_ms"]),
        shown(&figures["slice_8192_ms"])
    );
    let first = &figures["first_metadata_ms"]["8192"];
    text += &format!(
        "A process's first metadata of 8192: {} ms; to be given as much memory, written to once a page: {} ms.\n",
        shown(&first["plan"]),
        shown(&first["memory"])
    );
    text += "\n| mix | ranks | heaviest over mean | the original's | elements a token | the original's | ratio |\n|---|--:|--:|--:|--:|--:|--:|\n";
    for case in figures["cases"].as_array().into_iter().flatten() {
        let number = |key: &str| case[key].as_f64().unwrap_or(f64::NAN);
        let (ours, theirs) = (number("elements_per_token"), number("original_elements_per_token"));
        text += &format!(
            "| {} | {} | {:.3} | {:.3} | {ours:.0} | {theirs:.0} | {:.2} |\n",
            case["name"].as_str().unwrap_or_default(),
            case["world_size"],
            number("max_over_mean"),
            number("original_max_over_mean"),
            ours / theirs,
        );
    }
    text += &layouts(figures);
    if let Some(peers) = figures.get("peers") {
        text += &format!("\nThe original's dense step, one of many, in torch here: {peers}\n");
    }
    text
}

/// File order beside a chosen layout, and one plan each of the widest batches.
fn layouts(figures: &Value) -> String {
    let mut text = String::from(
        "\n| documents | ranks | file order, GB | above the bound | chosen, GB | above the bound | less | crumbs |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for case in figures["layouts"].as_array().into_iter().flatten() {
        let number = |key: &str| case[key].as_f64().unwrap_or(f64::NAN);
        let (in_order, chosen) = (number("in_order_bytes"), number("chosen_bytes"));
        text += &format!(
            "| {} | {} | {:.3} | {:.0} % | {:.3} | {:.0} % | {:.0} % | {}, {} |\n",
            case["name"].as_str().unwrap_or_default(),
            case["world_size"],
            in_order / 1e9,
            (in_order / number("in_order_bound_bytes") - 1.0) * 100.0,
            chosen / 1e9,
            (chosen / number("chosen_bound_bytes") - 1.0) * 100.0,
            (1.0 - chosen / in_order) * 100.0,
            case["in_order_crumbs"][0],
            case["chosen_crumbs"][0],
        );
    }
    text += "\n| network | documents | fewest bytes: ms, GB | shortest time: ms, GB |\n|---|---|--:|--:|\n";
    for case in figures["goals"].as_array().into_iter().flatten() {
        let pair = |key: &str| format!("{}, {}", shown(&case[key][0]), shown(&case[key][1]));
        let [network, name] = ["network", "name"].map(|key| case[key].as_str().unwrap_or_default());
        text += &format!("| {network} | {name} | {} | {} |\n", pair("fewest_bytes"), pair("shortest_time"));
    }
    text.push('\n');
    for (name, ms) in figures["wide_ms"].as_object().into_iter().flatten() {
        text += &format!("{name}: {} ms\n", shown(ms));
    }
    text
}

fn shown(figure: &Value) -> String {
    match figure.as_f64() {
        Some(ms) if ms >= 100.0 => format!("{ms:.0}"),
        Some(ms) => format!("{ms:.2}"),
        None => "–".to_owned(),
    }
}
