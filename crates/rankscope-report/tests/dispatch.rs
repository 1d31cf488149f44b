//! Plans as pages, left in the test folder of cargo's target to be looked at.

use std::path::Path;

use rankscope_document::{DispatchDocument, DispatchRank, DispatchedDocument, Note, NoteLevel};
use rankscope_report::dispatch_html;

/// A plan of `world` ranks and `documents` documents: every third document's second half is computed by another rank.
fn plan(world: u32, documents: u64) -> DispatchDocument {
    let length = |document: u64| 131_072 / (document % 97 + 1);
    let strip = |document: u64| {
        let home = (document % u64::from(world)) as u32;
        let away = (home * 7 + 3) % world;
        let (half, rest) = (length(document) / 2, length(document) - length(document) / 2);
        let shards = if document.is_multiple_of(3) {
            vec![(home, home, half), (home, away, rest)]
        } else {
            vec![(home, home, half + rest)]
        };
        DispatchedDocument { document, tokens: length(document), shards }
    };
    let rank = |rank: u32| DispatchRank {
        rank,
        tokens: 65_536,
        work_before: 50.0 + f64::from(rank * 37 % 101) * 2.0,
        work_after: 145.0 + f64::from(rank % 7),
        sent_bytes: u64::from(rank) * 1_000_000,
        received_bytes: u64::from(world - rank) * 900_000,
    };
    let pairs = (0..world).flat_map(|from| (0..world).map(move |to| (from, to, u64::from(from * 31 + to * 17) % 97 * 10_000)));
    let mut strips: Vec<_> = (0..documents).map(strip).collect();
    strips.sort_by_key(|strip| std::cmp::Reverse(strip.tokens));
    DispatchDocument {
        schema: 1,
        rankscope_version: "0.1.0".to_owned(),
        title: "docs </script> .json".to_owned(),
        planner: "bounded".to_owned(),
        eps: Some(0.05),
        mean_work: 148.0,
        most_work: Some(148.0 * 1.05),
        tokens: strips.iter().map(|strip| strip.tokens).sum(),
        document_count: documents,
        moved_bytes: 123_456_789,
        notes: vec![Note { level: NoteLevel::Finding, text: "The heaviest rank does 1.02 times the mean.".to_owned() }],
        ranks: (0..world).map(rank).collect(),
        pairs: pairs.filter(|pair| pair.0 != pair.1 && pair.2 > 0).collect(),
        documents: strips,
    }
}

fn page(name: &str, document: &DispatchDocument) -> String {
    let page = dispatch_html(document).expect("the template renders");
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html")), &page)
        .expect("cargo gives tests a folder");
    page
}

#[test]
fn a_page_fetches_nothing_and_a_title_stays_a_title() {
    let page = page("dispatch-64", &plan(64, 300));
    for foreign in ["http:", "https:", "//www", "@import", "url(", " src=", "import(", "fetch("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert_eq!(page.matches("</script>").count(), 3, "the title closed a script");
    assert!(page.contains("docs &lt;&#x2f;script&gt; .json"), "{}", &page[..600]);
    assert!(page.contains("64 ranks"));
}

#[test]
fn only_the_longest_documents_are_drawn_and_all_are_counted() {
    let page = page("dispatch-1024", &plan(1024, 5_000));
    assert!(page.contains("5000 documents"), "the fact");
    assert_eq!(page.matches("\"shards\":").count(), 60);
}

#[test]
fn a_plan_of_one_rank_without_documents_is_a_page() {
    assert!(page("dispatch-1", &plan(1, 0)).contains("1 rank"));
}
