//! The clocks of nodes as tables and as a page, left in the test folder of cargo's target to be looked at.

mod common;

use std::path::Path;

use common::clocks::document;
use rankscope_document::ClockDocument;
use rankscope_report::{ClockTables, Style, clock_html, clock_terminal};

const STYLE: Style = Style { color: false, width: 100 };

fn page(name: &str, document: &ClockDocument) -> String {
    let page = clock_html(document).expect("the template renders");
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html")), &page)
        .expect("cargo gives tests a folder");
    page
}

#[test]
fn tables_keep_every_nanosecond() {
    let text = clock_terminal(&document(9, 3), ClockTables::Rounds, STYLE);
    insta::assert_snapshot!(text);
}

#[test]
fn long_runs_are_thinned_and_steps_stay() {
    let text = clock_terminal(&document(7_200, 12), ClockTables::Rounds, STYLE);
    assert!(text.contains("every 450th of 7200 rounds"), "{text}");
    assert!(text.contains("3 more nodes not shown"), "{text}");
    assert_eq!(text.matches("  step").count(), 8 + 1, "one a node, and the heading");
}

#[test]
fn a_page_fetches_nothing_and_stays_small() {
    let page = page("clocks", &document(7_200, 64));
    assert!(page.len() < 12_000_000, "{}", page.len());
    // The banner that uPlot begins with, and nothing else.
    let page = page.replacen("/*! https://github.com/leeoniya/uPlot (v1.6.32) */", "", 1);
    for foreign in ["http:", "https:", "//www", "@import", "url(", " src=", "import(", "fetch("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("one round in 5 is drawn"));
}

#[test]
fn hostile_titles_stay_text() {
    let hostile = "</script><img src=x onerror=alert(1)>\u{202e}";
    let mut document = document(2, 2);
    document.title = hostile.to_owned();
    document.notes[0].text = hostile.to_owned();
    let page = page("hostile-clocks", &document);
    assert!(!page.contains("<img"));
    assert_eq!(page.matches("</script").count(), 4, "two documents, uPlot and the scripts");
}

#[test]
fn the_licence_of_what_draws_series_goes_with_the_page() {
    let drawn = page("licensed", &document(2, 2));
    let licence = include_str!("../web/vendor/uplot/LICENSE");
    assert!(licence.contains("Permission is hereby granted") && drawn.contains(licence));
    let empty = page("unlicensed", &ClockDocument::default());
    assert!(!empty.contains("leeoniya"), "a page that draws nothing has no use for it");
}

#[test]
fn nothing_at_all_still_says_what_it_is() {
    let page = page("no-clocks", &ClockDocument::default());
    assert!(page.contains("nothing to draw"));
    assert!(clock_terminal(&ClockDocument::default(), ClockTables::Rounds, STYLE).contains("0 nodes"));
}
