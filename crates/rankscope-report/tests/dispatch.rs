//! Plans as pages, left in the test folder of cargo's target to be looked at.

mod common;

use std::path::Path;

use common::plans::plan;
use rankscope_document::{DispatchDocument, DispatchedHeads};
use rankscope_report::dispatch_html;

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
fn parts_of_the_heads_have_strips_of_their_own_and_count_as_such() {
    let mut document = plan(8, 40);
    document.head_groups = Some(4);
    "backward".clone_into(&mut document.pass);
    for one in &mut document.documents {
        let whole = std::mem::take(&mut one.shards);
        let elsewhere = whole.iter().map(|&(linear, attention, tokens)| (linear, (attention + 1) % 8, tokens)).collect();
        one.heads = vec![
            DispatchedHeads { groups: vec![0, 1, 3], shards: whole },
            DispatchedHeads { groups: vec![2], shards: elsewhere },
        ];
    }
    let page = page("dispatch-heads", &document);
    assert!(page.contains("heads in 4 groups") && page.contains("a backward pass"), "the facts");
    assert_eq!(page.matches("\"groups\":").count(), 60);
}

#[test]
fn a_plan_of_one_rank_without_documents_is_a_page() {
    assert!(page("dispatch-1", &plan(1, 0)).contains("1 rank"));
}
