//! `cargo xtask bench page`: how large pages of 8, 64 and 1,024 ranks are and how fast a browser shows them, and how fast runs are served.
//!
//! Pages are made and opened by the benchmark of rankscope-report, which knows the browser; serving is measured here, from outside. What is
//! asked for stands beside every figure. Without Chromium the sizes are told, and that the rest is missing.

mod serve;

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::table::push;
use crate::cargo;

/// Options of `cargo xtask bench page`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
    /// Measure this program instead of building target/release/rankscope.
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// What is printed with `--format json`.
#[derive(Serialize)]
struct Outcome {
    figures: Vec<Figure>,
    /// What could not be measured, and why.
    missing: Option<String>,
}

/// One figure and what is asked of it.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Figure {
    pub(super) of: String,
    pub(super) what: &'static str,
    pub(super) unit: &'static str,
    pub(super) value: f64,
    pub(super) bar: f64,
    pub(super) holds: bool,
}

impl Figure {
    /// One that may be so large.
    pub(super) fn at_most(of: String, what: &'static str, unit: &'static str, value: f64, bar: f64) -> Self {
        Self { of, what, unit, value, bar, holds: value <= bar }
    }
}

/// What the benchmark of rankscope-report prints.
#[derive(Deserialize)]
struct Pages {
    pages: Vec<Opened>,
    missing: Option<String>,
}

/// One page.
#[derive(Deserialize)]
struct Opened {
    ranks: u32,
    steps: u32,
    bytes: u64,
    first_paint_ms: Option<f64>,
    interactive_ms: Option<f64>,
    zoom_fps: Option<f64>,
}

/// What is asked of a page of at most so many ranks.
struct Bar {
    ranks: u32,
    bytes: f64,
    first_paint_ms: f64,
    interactive_ms: f64,
}

const BARS: [Bar; 3] = [
    Bar { ranks: 8, bytes: 300e3, first_paint_ms: 300.0, interactive_ms: 500.0 },
    Bar { ranks: 64, bytes: 2e6, first_paint_ms: 1_000.0, interactive_ms: 1_000.0 },
    Bar { ranks: 1_024, bytes: 5e6, first_paint_ms: 1_000.0, interactive_ms: 1_000.0 },
];

/// Below this, zooming is no motion.
const ZOOM_FPS: f64 = 30.0;

/// Runs the benchmark.
pub(crate) fn run(args: &Args) -> Result<()> {
    let Pages { pages, missing } = pages()?;
    let mut figures: Vec<Figure> = pages.iter().flat_map(figures).collect();
    let (binary, folder) = super::at_hand(args.binary.as_deref())?;
    figures.extend(serve::figures(&binary, &folder)?);
    let outcome = Outcome { figures, missing };
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&outcome)?),
        _ => print!("{}", markdown(&outcome)),
    }
    Ok(())
}

fn pages() -> Result<Pages> {
    let mut command =
        cargo::command(["bench", "--locked", "--profile", "dev", "--package", "rankscope-report", "--bench", "page"]);
    let output = command.stderr(Stdio::inherit()).output().context("failed to run the benchmark of pages")?;
    if !output.status.success() {
        bail!("the benchmark of pages ended with {}", output.status);
    }
    serde_json::from_slice(&output.stdout).context("the benchmark of pages printed something else than its figures")
}

fn figures(page: &Opened) -> Vec<Figure> {
    let of = format!("{} ranks by {} steps", page.ranks, page.steps);
    let Some(bar) = BARS.iter().find(|bar| page.ranks <= bar.ranks) else { return Vec::new() };
    let mut figures = vec![Figure::at_most(of.clone(), "page", "B", page.bytes as f64, bar.bytes)];
    let times =
        [("first paint", page.first_paint_ms, bar.first_paint_ms), ("interactive", page.interactive_ms, bar.interactive_ms)];
    figures.extend(times.into_iter().filter_map(|(what, ms, bar)| Some(Figure::at_most(of.clone(), what, "ms", ms?, bar))));
    figures.extend(page.zoom_fps.map(|value| Figure {
        of,
        what: "zoom",
        unit: "frames/s",
        value,
        bar: ZOOM_FPS,
        holds: value >= ZOOM_FPS,
    }));
    figures
}

fn markdown(outcome: &Outcome) -> String {
    let mut text = "| of | what | figure | asked for | |\n|---|---|--:|--:|---|\n".to_owned();
    for Figure { of, what, unit, value, bar, holds } in &outcome.figures {
        let holds = if *holds { "holds" } else { "fails" };
        push(&mut text, format_args!("| {of} | {what} | {value:.0} {unit} | {bar:.0} | {holds} |"));
    }
    if let Some(missing) = &outcome.missing {
        push(&mut text, format_args!("\n{missing}."));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_browser_the_size_alone_is_judged_by_the_bar_of_its_ranks() {
        let page =
            Opened { ranks: 64, steps: 500, bytes: 2_000_001, first_paint_ms: None, interactive_ms: None, zoom_fps: None };
        let found = figures(&page);
        assert_eq!((found.len(), found[0].bar, found[0].holds), (1, 2e6, false));
        let page = Opened { zoom_fps: Some(29.0), ..page };
        assert_eq!((figures(&page)[1].what, figures(&page)[1].holds), ("zoom", false));
    }

    #[test]
    fn every_row_has_as_many_cells_as_the_head() {
        let figures = vec![Figure::at_most("8 ranks".to_owned(), "page", "B", 5.0, 6.0)];
        let text = markdown(&Outcome { figures, missing: Some("Nobody was there".to_owned()) });
        let cells: Vec<usize> =
            text.lines().filter(|line| line.starts_with('|')).map(|line| line.matches('|').count()).collect();
        assert_eq!(cells, [6, 6, 6]);
        assert!(text.ends_with("\nNobody was there.\n"), "{text}");
    }
}
