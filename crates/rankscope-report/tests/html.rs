//! The page as text: self-contained, and safe whatever the names in the traces.
//!
//! The pages are left in the test folder of cargo's target, to be looked at.

mod common;

use std::path::Path;

use rankscope_document::Document;
use rankscope_report::{Layout, html, json};
use serde_json::Value;

fn page(name: &str, document: &Document) -> String {
    let page = html(document).expect("the template renders");
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html")), &page)
        .expect("cargo gives tests a folder");
    page
}

/// The text between the opening tag of the script `id` and the first `</script`, as an HTML parser would take it.
fn embedded<'a>(page: &'a str, id: &str) -> &'a str {
    let tag = format!("<script type=\"application/json\" id=\"{id}\">");
    let rest = &page[page.find(&tag).expect("the script is in the page") + tag.len()..];
    &rest[..rest.find("</script").expect("the script ends")]
}

fn value(document: &Document) -> Value {
    serde_json::from_str(&json(document, Layout::Compact)).expect("json writes JSON")
}

/// As a page may show it: of what the fixtures hold, only the mark that turns text around is no text.
fn in_plain_text(document: &Document) -> Value {
    let text = json(document, Layout::Compact).replace('\u{202e}', "\u{fffd}");
    serde_json::from_str(&text).expect("json writes JSON")
}

#[test]
fn the_embedded_document_is_the_document_in_plain_text() {
    for (name, document) in [
        ("eight_gpus", common::eight_gpus()),
        ("two_nodes", common::two_nodes()),
        ("four_on_cpu", common::four_on_cpu()),
        ("one_of_eight", common::one_of_eight()),
    ] {
        let page = page(name, &document);
        let back: Document = serde_json::from_str(embedded(&page, "document")).unwrap();
        assert_eq!(value(&back), in_plain_text(&document), "{name}");
    }
}

#[test]
fn an_empty_document_makes_a_page() {
    let page = page("empty", &Document::default());
    let back: Document = serde_json::from_str(embedded(&page, "document")).unwrap();
    assert_eq!(value(&back), value(&Document::default()));
    assert!(page.trim_end().ends_with("</html>"), "{page}");
}

#[test]
fn nothing_is_fetched() {
    let page = page("eight_gpus", &common::eight_gpus());
    for foreign in ["http:", "https:", "//www", "@import", "url(", " src=", "import(", "fetch("] {
        let outside_data = page.replace(embedded(&page, "document"), "");
        assert!(!outside_data.contains(foreign), "{foreign}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn hostile_names_stay_text() {
    let mut document = common::eight_gpus();
    document.title = common::HOSTILE.to_owned();
    document.classes = common::HOSTILE.into();
    document.rankscope_version = "\"><script>alert(2)</script>".to_owned();
    document.notes[0].text = common::HOSTILE.to_owned();
    document.ranks[0].file = common::HOSTILE.to_owned();
    document.collectives.groups[0].name = common::HOSTILE.to_owned();
    document.collectives.unmatched_list[0].name = common::HOSTILE.to_owned();
    let page = page("hostile", &document);
    assert!(!page.contains("<img"));
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("</script").count(), 3, "two documents and the scripts, nothing that names smuggle in");
    let back: Document = serde_json::from_str(embedded(&page, "document")).unwrap();
    assert_eq!(back.ranks[2].kernels[3].name, common::HOSTILE.replace('\u{202e}', "\u{fffd}"));
    assert!(!page.contains('\u{202e}'), "text that runs backwards");
}

#[test]
fn a_rate_that_is_not_a_number_is_absent() {
    let mut document = common::eight_gpus();
    document.collectives.groups[0].busbw_gbps_mean = Some(f64::NAN);
    document.collectives.groups[0].algbw_gbps_mean = Some(f64::INFINITY);
    let page = page("not_a_number", &document);
    let back: Document = serde_json::from_str(embedded(&page, "document")).unwrap();
    assert_eq!(back.collectives.groups[0].busbw_gbps_mean, None);
}

#[test]
fn thousands_of_ranks_make_a_page_a_browser_opens() {
    let mut document = common::job(4096, 8, 400);
    for rank in &mut document.ranks {
        rank.kernels = rank.kernels.iter().cycle().take(60).cloned().collect();
    }
    let page = page("many_ranks", &document);
    assert!(page.len() < 40 << 20, "{} bytes", page.len());
    let cuts: Value = serde_json::from_str(embedded(&page, "cuts")).unwrap();
    assert_eq!(cuts["instances"], 380);
    assert_eq!(cuts["kernels_per_rank"], 60);
    let back: Document = serde_json::from_str(embedded(&page, "document")).unwrap();
    assert_eq!(back.ranks.len(), 4096);
    assert!(back.collectives.instances.len() < 30);
}

/// What a reader waits for on opening a page: its bytes are read, parsed and drawn.
#[test]
fn pages_stay_within_their_budgets() {
    for (ranks, steps, collectives, budget) in [(8, 10, 60, 300_000), (64, 12, 400, 2_000_000), (1_024, 500, 400, 5_000_000)] {
        let mut document = common::job(ranks, steps, collectives);
        if ranks > 256 {
            // Of so many ranks, kernels are listed for all together.
            document.ranks.iter_mut().for_each(|rank| rank.kernels.clear());
        }
        let page = page(&format!("budget_{ranks}"), &document);
        assert!(page.len() < budget, "{} bytes of {budget} for {ranks} ranks and {steps} steps", page.len());
    }
    let empty = page("budget_of_scripts", &Document::default());
    assert!(empty.len() < 160_000, "{} bytes of scripts and styles", empty.len());
}

#[test]
fn a_thousand_ranks_by_a_hundred_steps() {
    assert!(page("thousand_by_hundred", &common::job(1000, 100, 60)).len() < 40 << 20);
}
