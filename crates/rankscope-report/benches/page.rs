//! Pages of generated jobs: how large they are, and how long a browser takes to show one, to answer, and to zoom.
//!
//! Prints one JSON document; `cargo xtask bench page` shows it beside what is asked for. Without Chromium there are sizes alone, and `missing`
//! says why.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

#[path = "../tests/page/browser.rs"]
#[expect(dead_code, reason = "the tests of pages look at more")]
mod browser;
#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;

use browser::{Browser, Look};
use rankscope_document::Document;
use rankscope_report::html;
use serde_json::{Value, json};

/// Ranks of the jobs. Each has so many steps, with collectives in every one.
const RANKS: [u32; 3] = [8, 64, 1_024];
const STEPS: i64 = 500;
const COLLECTIVES: usize = 3_000;

/// Each page is opened so often; the median counts.
const VISITS: usize = 5;

const DESKTOP: Look = Look { width: 1440, dark: false, used: false };

fn main() {
    let mut browser = Browser::installed().map(|program| Browser::start(&program));
    let pages: Vec<Value> = RANKS.into_iter().map(|ranks| measured(ranks, browser.as_mut())).collect();
    let missing = browser.is_none().then_some("Chromium is not installed, so nothing was opened");
    println!("{}", json!({ "pages": pages, "missing": missing }));
}

fn measured(ranks: u32, browser: Option<&mut Browser>) -> Value {
    let page = html(&job(ranks)).expect("the template renders");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{ranks}.html"));
    std::fs::write(&path, &page).expect("cargo gives benchmarks a folder");
    let mut figures = json!({ "ranks": ranks, "steps": STEPS, "bytes": page.len() });
    if let Some(browser) = browser {
        let visits: Vec<Value> = (0..VISITS).map(|_| visit(browser, &path)).collect();
        for key in ["first_paint_ms", "interactive_ms", "zoom_fps"] {
            figures[key] = median(&visits, key).into();
        }
    }
    figures
}

fn job(ranks: u32) -> Document {
    let mut document = common::answers::answered(common::as_listed(common::job(ranks, STEPS, COLLECTIVES)));
    if ranks > 256 {
        // Of so many ranks a report lists kernels for all together.
        document.ranks.iter_mut().for_each(|rank| rank.kernels.clear());
    }
    document
}

fn visit(browser: &mut Browser, page: &Path) -> Value {
    browser.open("about:blank", DESKTOP);
    browser.open(&format!("file://{}", page.display()), DESKTOP);
    let seen = browser.evaluate(PROBE);
    assert_eq!(browser.complaints(), [""; 0]);
    seen
}

fn median(visits: &[Value], key: &str) -> f64 {
    let mut values: Vec<f64> = visits.iter().map(|visit| visit[key].as_f64().expect("the probe returns numbers")).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Zooms into the strip and out again, a key in every frame, as a reader does who holds one down.
const PROBE: &str = r##"(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const paints = performance.getEntriesByType("paint");
    while (performance.getEntriesByType("paint").length === 0) await frame();
    const painted = performance.getEntriesByType("paint").find((one) => one.name === "first-contentful-paint") ?? paints[0];
    const [loaded] = performance.getEntriesByType("navigation");
    const canvas = document.querySelector("#strip canvas");
    canvas.scrollIntoView();
    await frame();
    const [frames, begin] = [60, performance.now()];
    for (let at = 0; at < frames; at++) {
        canvas.dispatchEvent(new KeyboardEvent("keydown", { key: at % 16 < 8 ? "+" : "-" }));
        await frame();
    }
    const zoomed = performance.now() - begin;
    return { first_paint_ms: painted.startTime, interactive_ms: Math.max(loaded.loadEventEnd, painted.startTime), zoom_fps: frames / zoomed * 1000 };
})()"##;
