//! The scripts of the pages: their pure modules under Node, and whole pages in a browser.
//!
//! Neither comes with Rust. Where one is missing, its tests say so and are counted as skipped. Pages of real jobs are looked at as
//! well where `RANKSCOPE_PAGES` names a folder of them, as `cargo xtask ci page` does.

#[path = "page/browser.rs"]
#[expect(dead_code, reason = "pages that are served open windows")]
mod browser;
mod common;
#[path = "page/keyboard.rs"]
mod keyboard;
#[path = "page/looks.rs"]
mod looks;
#[path = "page/npm.rs"]
mod npm;
#[path = "page/promise.rs"]
mod promise;

use std::path::{Path, PathBuf};
use std::process::Command;

use browser::{Browser, Look, Visit};
use common::unpacked::unpacked;
use promise::Allowed;
use rankscope_document::{ClockDocument, CompareDocument, Document, HistoryDocument, ValidationDocument};
use rankscope_report::{clock_html, compare_html, dispatch_html, history_html, html, validation_html};
use rankscope_testkit::{Need, skip};
use serde_json::Value;

const PROBE: &str = include_str!("page/probe.js");

/// Tables of a report are there where somebody asked for them, and nowhere else.
#[test]
fn a_report_has_the_tables_that_its_document_has() {
    let page = html(&common::tables::document()).unwrap();
    let tables = &embedded(&page, "document")["page_tables"];
    let names: Vec<&str> = tables.as_array().unwrap().iter().map(|table| table["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["kernels_across_ranks", "overlap_across_ranks", "kernel_summary", "by_group"]);
    assert_eq!((&tables[2]["total"], tables[2]["rows"].as_array().unwrap().len()), (&Value::from(600), 200));
    assert_eq!(page.matches("kernels_across_ranks").count(), 1, "they are in the page once");
    assert!(page.contains("<section id=\"tables\">"));
    let plain = html(&common::eight_gpus()).unwrap();
    assert!(
        !plain.contains("<section id=\"tables\">")
            && embedded(&plain, "document")["page_tables"] == Value::from(Vec::<Value>::new())
    );
}

#[test]
fn a_search_leaves_the_rows_that_have_the_word() {
    let Some(mut browser) = browser() else { return };
    let page = html(&common::tables::document()).unwrap();
    let search = r##"(async () => {
        const choice = document.querySelector("#tables select");
        choice.value = "2";
        choice.dispatchEvent(new Event("change"));
        const rows = () => document.querySelectorAll("#tables tbody tr").length;
        const type = (text) => {
            const box = document.querySelector("#tables input[type=search]");
            box.value = text;
            box.dispatchEvent(new Event("input"));
        };
        const counts = [rows()];
        for (const text of ["KERNEL_299", "no such", ""]) { type(text); counts.push(rows()); }
        const empty = { sections: {}, banners: [], blank: [], canvases: 0, tips: 0, overflow: 0, paper: "" };
        return { ...empty, texts: counts.map(String) };
    })()"##;
    let visit = browser.visit(&written("searched", &page), LOOKS[0], search);
    assert_eq!(visit.complaints, [""; 0]);
    assert_eq!(visit.seen.texts, ["20", "2", "0", "20"], "before, and with each word");
}

const LOOKS: [Look; 4] = [
    Look { width: 1240, dark: false, used: true },
    Look { width: 1240, dark: true, used: false },
    Look { width: 390, dark: false, used: false },
    Look { width: 390, dark: true, used: true },
];

#[test]
fn the_laws_of_the_pure_modules_hold() {
    if Command::new("node").arg("--version").output().is_err() {
        return skip(Need::Node, "node is not installed");
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/test");
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let tests: Vec<PathBuf> = all.filter(|path| path.to_string_lossy().ends_with(".test.mjs")).collect();
    assert!(!tests.is_empty());
    let output = Command::new("node").arg("--test").args(&tests).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("# skipped 0") || said.contains("ℹ skipped 0"), "{said}");
}

#[test]
fn every_page_draws_itself_in_any_light_and_width_and_shows_no_number_of_its_own() {
    let Some(mut browser) = browser() else { return };
    for (name, page) in pages() {
        look_at(&mut browser, &name, &written(&name, &page), &page);
    }
}

#[test]
fn so_do_pages_of_real_jobs() {
    let Some(folder) = std::env::var_os("RANKSCOPE_PAGES") else {
        return skip(Need::Pages, "RANKSCOPE_PAGES names no folder of pages; `cargo xtask ci page` makes one");
    };
    let Some(mut browser) = browser() else { return };
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "html") {
            continue;
        }
        let (name, page) = (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
        look_at(&mut browser, &name, &path, &page);
        count += 1;
    }
    assert!(count > 0, "the folder holds no page");
}

#[test]
fn a_script_that_computes_a_result_is_found_out() {
    let Some(mut browser) = browser() else { return };
    let page = html(&common::eight_gpus()).unwrap();
    for (honest, invented) in [
        ("formatTime(longest.time_ns.total)", "formatTime(longest.time_ns.total/doc.ranks.length)"),
        ("formatTime(r.delay_ns)", "formatTime(r.delay_ns*0.7)"),
        ("(part/whole*100)", "(part/whole*101)"),
    ] {
        assert!(page.contains(honest), "{honest}");
        let visit = browser.visit(&written("dishonest", &page.replace(honest, invented)), LOOKS[0], PROBE);
        assert!(!strangers(&visit, &page).is_empty(), "nobody noticed {invented}");
    }
}

#[test]
fn a_section_that_cannot_be_drawn_says_so_and_the_others_stand() {
    let Some(mut browser) = browser() else { return };
    let page = html(&common::eight_gpus()).unwrap();
    let damaged = page.replace("function lateTable(ranks){", "function lateTable(ranks){throw new Error(\"on purpose\");");
    assert_ne!(page, damaged);
    let visit = browser.visit(&written("damaged", &damaged), LOOKS[0], PROBE);
    assert_eq!(visit.seen.banners, ["This part could not be drawn: on purpose"]);
    assert!(visit.complaints.iter().any(|complaint| complaint.contains("on purpose")), "{:?}", visit.complaints);
    assert!(visit.seen.sections["files"] > 100);
}

fn browser() -> Option<Browser> {
    let program = Browser::installed();
    if program.is_none() {
        skip(Need::Chromium, "Chromium is not installed");
    }
    program.map(|program| Browser::start(&program))
}

/// Pages of every kind, and of every shape that a kind can have.
fn pages() -> Vec<(String, String)> {
    let reports = [
        ("eight_gpus", common::eight_gpus()),
        ("two_nodes", common::two_nodes()),
        ("four_on_cpu", common::four_on_cpu()),
        ("one_of_eight", common::one_of_eight()),
        ("hundred_ranks", common::answers::answered(common::as_listed(common::job(100, 40, 60)))),
        ("tables", common::tables::document()),
        ("empty", Document::default()),
    ];
    let clocks = [
        ("clocks", common::clocks::document(60, 10)),
        ("one_round", common::clocks::document(1, 2)),
        ("no_clocks", ClockDocument::default()),
    ];
    let plans = [
        ("plan_64", common::plans::plan(64, 80)),
        ("plan_300", common::plans::plan(300, 30)),
        ("plan_1", common::plans::plan(1, 0)),
    ];
    let compared = [
        ("compared_8", common::compared::document(8, 40, 1)),
        ("compared_4_of_three", common::compared::document(4, 12, 3)),
        ("compared_100", common::compared::document(100, 6, 1)),
        ("compared_nothing", CompareDocument::default()),
    ];
    let histories = [
        ("history_40", common::past::document(40, 30)),
        ("history_2", common::past::document(2, 3)),
        ("history_nothing", HistoryDocument::default()),
    ];
    let checked = [("checked", common::checked::document()), ("checked_nothing", ValidationDocument::default())];
    let checked = checked.map(|(name, document)| (name, validation_html(&document, &[]).expect("the template renders")));
    let histories = histories.map(|(name, document)| (name, history_html(&document, &[]).expect("the template renders")));
    let compared = compared.map(|(name, document)| (name, compare_html(&document, &[]).expect("the template renders")));
    let reports = reports.map(|(name, document)| (name, html(&document).expect("the template renders")));
    let clocks = clocks.map(|(name, document)| (name, clock_html(&document).expect("the template renders")));
    let plans = plans.map(|(name, document)| (name, dispatch_html(&document).expect("the template renders")));
    let all = reports.into_iter().chain(clocks).chain(plans).chain(compared).chain(histories).chain(checked);
    all.map(|(name, page)| (name.to_owned(), page)).collect()
}

fn written(name: &str, page: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("seen-{name}.html"));
    std::fs::write(&path, page).expect("cargo gives tests a folder");
    path
}

fn look_at(browser: &mut Browser, name: &str, path: &Path, page: &str) {
    for look in LOOKS {
        let visit = browser.visit(path, look, PROBE);
        check(name, look, &visit, page);
        assert_eq!(strangers(&visit, page), [""; 0], "{name} at {look:?} shows what its document does not have");
    }
}

fn check(name: &str, look: Look, visit: &Visit, page: &str) {
    let seen = &visit.seen;
    let at = format!("{name} at {look:?}");
    assert_eq!(visit.complaints, [""; 0], "{at}");
    assert_eq!(visit.fetched, [""; 0], "{at}");
    assert!(seen.overflow <= 0, "{at} is {} pixels too wide", seen.overflow);
    assert_eq!(seen.blank, [""; 0], "{at}: canvases without a drawing");
    assert_eq!(seen.paper, if look.dark { "rgb(18, 21, 26)" } else { "rgb(255, 255, 255)" }, "{at}");
    assert!(!look.used || seen.tips >= seen.canvases, "{at}: {} answers to the pointer", seen.tips);
    for part in page.split("<section id=\"").skip(1) {
        let id = part.split('"').next().unwrap_or_default();
        // More than its heading. Of findings there may be none.
        assert!(seen.sections.get(id) > Some(&40) || id == "findings", "{at}: {id} is empty");
    }
    let failed: Vec<&String> = seen.banners.iter().filter(|banner| banner.contains("could not be drawn")).collect();
    assert_eq!(failed, [""; 0], "{at}");
}

fn strangers(visit: &Visit, page: &str) -> Vec<String> {
    let allowed = Allowed::of(&embedded(page, "document"), &embedded(page, "cuts"));
    visit.seen.texts.iter().flat_map(|text| allowed.strangers(text)).collect()
}

fn embedded(page: &str, id: &str) -> Value {
    let tag = format!("<script type=\"application/json\" id=\"{id}\">");
    let rest = page.split_once(&tag).expect("the page embeds it").1;
    unpacked(serde_json::from_str(rest.split_once("</script>").expect("scripts end").0).expect("it is JSON"))
}
