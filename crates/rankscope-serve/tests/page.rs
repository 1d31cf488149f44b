//! The scripts of the served pages: their types, their pure modules under Node, and whole pages in a browser, over a socket.
//!
//! Neither program comes with Rust. Where one is missing, its tests say so and are counted as skipped.

#[path = "../../rankscope-report/tests/page/browser.rs"]
#[expect(dead_code, reason = "pages that are opened from disk are visited; these are asked for")]
mod browser;
#[path = "page/calls.rs"]
mod calls;
#[path = "page/perfetto.rs"]
mod perfetto;
#[path = "page/served.rs"]
mod served;

use std::path::{Path, PathBuf};
use std::process::Command;

use browser::{Browser, Look};
use rankscope_testkit::{Need, given, skip};

const LOOKS: [Look; 2] = [Look { width: 1240, dark: false, used: true }, Look { width: 390, dark: true, used: true }];

fn browser() -> Option<Browser> {
    let program = Browser::installed();
    if program.is_none() {
        skip(Need::Chromium, "Chromium is not installed");
    }
    program.map(|program| Browser::start(&program))
}

/// What `expression` is in the page, once it is a text that is not empty.
fn awaited(browser: &mut Browser, expression: &str) -> String {
    let script = format!(
        "(async () => {{ for (let i = 0; i < 500; i++) {{ const found = {expression}; if (found) return String(found); await new Promise((done) => setTimeout(done, 20)); }} return ''; }})()"
    );
    browser.evaluate(&script).as_str().unwrap_or_default().to_owned()
}

fn text(browser: &mut Browser, expression: &str) -> String {
    browser.evaluate(expression).as_str().unwrap_or_default().to_owned()
}

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("web")
}

#[test]
fn the_laws_of_the_pure_modules_hold() {
    if Command::new("node").arg("--version").output().is_err() {
        return skip(Need::Node, "node is not installed");
    }
    let output = Command::new("node").arg("--test").arg(web().join("test/tree_rows.test.mjs")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_modules_have_types_that_agree() {
    let Some(modules) = given(Need::NodeModules) else { return };
    let checked = Command::new(modules.join(".bin/tsc")).arg("-p").arg(web().join("tsconfig.json")).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}
