//! The clocks of nodes as tables and as a page, left in the test folder of cargo's target to be looked at.

use std::path::Path;

use rankscope_document::{ClockDocument, ClockPoint, NodeClock, Note, NoteLevel};
use rankscope_report::{ClockTables, Style, clock_html, clock_terminal};

const STYLE: Style = Style { color: false, width: 100 };

fn point(round: u64, offset_ns: i64) -> ClockPoint {
    ClockPoint {
        round,
        at_ns: 1_700_000_000_000_000_000 + round as i64 * 4_000_000_000,
        elapsed_s: round as f64 * 4.0,
        offset_ns,
        skew_ppb: 12_345.678,
        bound_lo_ns: Some(offset_ns - 191),
        bound_hi_ns: Some(offset_ns + 181),
        sigma_ns: Some(6.0),
        residual_ns: 3.2,
        stray_ns: offset_ns % 17,
        degraded: round == 3,
        step: round == 5,
    }
}

fn document(rounds: u64, nodes: u32) -> ClockDocument {
    let clock = |node: u32| NodeClock {
        node,
        unreachable: node % 2,
        points: (0..rounds).map(|round| point(round, i64::from(node) * 5_000_034_692 + round as i64 * 49_382)).collect(),
    };
    ClockDocument {
        schema: 1,
        rankscope_version: "0.1.0".to_owned(),
        title: "runs/a".to_owned(),
        reference: Some(0),
        rounds: rounds as u32,
        notes: vec![Note { level: NoteLevel::Caution, text: "node 2 sent no window in 1 of 9 rounds".to_owned() }],
        nodes: (0..nodes).map(clock).collect(),
    }
}

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
    assert_eq!(page.matches("</script").count(), 3, "two documents and the scripts");
}

#[test]
fn nothing_at_all_still_says_what_it_is() {
    let page = page("no-clocks", &ClockDocument::default());
    assert!(page.contains("nothing to draw"));
    assert!(clock_terminal(&ClockDocument::default(), ClockTables::Rounds, STYLE).contains("0 nodes"));
}
