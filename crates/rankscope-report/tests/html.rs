//! The page as text: self-contained, and safe whatever the names in the traces.
//!
//! The pages are left in the test folder of cargo's target, to be looked at.

mod common;

use std::path::Path;

use common::unpacked::unpacked;
use rankscope_document::{CompareDocument, Document};
use rankscope_report::{PageLink, compare_html, html};
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

/// What the page was given of its document.
fn given(page: &str) -> Value {
    unpacked(serde_json::from_str(embedded(page, "document")).expect("it is JSON"))
}

/// Numbers of a list, in their order.
fn numbers(list: &Value) -> Vec<i64> {
    list.as_array().expect("a list").iter().map(|number| number.as_i64().expect("an integer")).collect()
}

/// As a page may show it: of what the fixtures hold, only the mark that turns text around is no text.
fn in_plain_text<T: serde::Serialize>(part: &T) -> Value {
    let text = serde_json::to_string(part).expect("documents are JSON").replace('\u{202e}', "\u{fffd}");
    serde_json::from_str(&text).expect("it still is")
}

#[test]
fn the_page_has_every_figure_of_every_rank() {
    for (name, document) in [
        ("eight_gpus", common::eight_gpus()),
        ("two_nodes", common::two_nodes()),
        ("four_on_cpu", common::four_on_cpu()),
        ("one_of_eight", common::one_of_eight()),
    ] {
        let given = given(&page(name, &document));
        let ranks = &given["ranks"];
        let times: Vec<Value> = document.ranks.iter().map(|rank| in_plain_text(&rank.time_ns)).collect();
        assert_eq!(ranks["times"], Value::from(times), "{name}");
        for (rank, about) in document.ranks.iter().zip(ranks["about"].as_array().unwrap()) {
            let found = (about["rank"].as_u64(), about["file"].as_str(), about["steps"].as_u64());
            assert_eq!(found, (Some(rank.rank.into()), Some(rank.file.as_str()), Some(rank.steps.len() as u64)), "{name}");
        }
        let kernels = || document.ranks.iter().flat_map(|rank| &rank.kernels);
        let names = numbers(&ranks["kernels"]["name"]).into_iter().map(|place| given["names"][place as usize].clone());
        assert_eq!(
            names.collect::<Vec<_>>(),
            kernels().map(|kernel| in_plain_text(&kernel.name)).collect::<Vec<_>>(),
            "{name}"
        );
        assert_eq!(
            numbers(&ranks["kernels"]["total_ns"]),
            kernels().map(|kernel| kernel.total_ns).collect::<Vec<_>>(),
            "{name}"
        );
        for part in ["blame", "budgets", "advice", "kernels"] {
            assert!(given[part].is_array(), "{name}: {part}");
        }
        assert_eq!(given["clock"]["pairs"], in_plain_text(&document.clock.pairs), "{name}");
    }
}

#[test]
fn the_page_has_every_wait_at_every_collective() {
    for (name, document) in [("eight_gpus", common::eight_gpus()), ("two_nodes", common::two_nodes())] {
        let given = given(&page(name, &document));
        let found = &given["collectives"]["instances"];
        let origin = given["origin_ns"].as_i64().unwrap();
        let listed = &document.collectives.instances;
        assert_eq!(numbers(&found["start_ns"]), listed.iter().map(|one| one.start_ns - origin).collect::<Vec<_>>(), "{name}");
        let mut waits = numbers(&found["wait_ns"]).into_iter();
        for (at, instance) in listed.iter().enumerate() {
            let set = numbers(&found["sets"][numbers(&found["set"])[at] as usize]);
            let last = numbers(&found["last"])[at] as usize;
            assert_eq!(set[last], i64::from(*instance.arrival_order.last().unwrap()), "{name}");
            for rank in set {
                let place = instance.arrival_order.iter().position(|one| i64::from(*one) == rank).unwrap();
                assert_eq!(waits.next(), Some(instance.wait_ns[place]), "{name}: rank {rank}");
            }
        }
        assert_eq!(waits.next(), None, "{name}");
    }
}

#[test]
fn times_are_rounded_only_where_they_are_many_and_then_as_they_are_shown() {
    let document = common::job(64, 100, 400);
    let given = given(&page("rounded", &document));
    let metrics = given["step_map"]["metrics"].as_array().unwrap();
    let total = numbers(&metrics.iter().find(|metric| metric["key"] == "total").unwrap()["values"]);
    let exact: Vec<i64> = document.ranks.iter().flat_map(|rank| &rank.steps).map(|step| step.time_ns.total).collect();
    assert_eq!(total.len(), exact.len());
    let three = |ns: i64| format!("{:.2e}", ns as f64);
    assert!(total.iter().zip(&exact).all(|(shown, exact)| shown.abs_diff(*exact) * 200 <= exact.unsigned_abs()));
    let differ = total.iter().zip(&exact).filter(|(shown, exact)| three(**shown) != three(**exact)).count();
    assert!(differ * 1_000 < total.len(), "{differ} of {} read differently", total.len());
}

#[test]
fn an_empty_document_makes_a_page() {
    let page = page("empty", &Document::default());
    assert_eq!(given(&page), Value::Null);
    assert!(page.trim_end().ends_with("</html>"), "{page}");
}

#[test]
fn a_way_to_a_page_beside_is_a_name_whatever_it_holds() {
    let links =
        [PageLink::to("Report of </a><img src=x>".to_owned(), 1, ["javascript:alert(1)", "a b#1%2F\"><img>", "report.html"])];
    let page = compare_html(&CompareDocument::default(), &links).unwrap();
    let way = "<a href=\"../javascript%3Aalert%281%29/a%20b%231%252F%22%3E%3Cimg%3E/report.html\">";
    assert!(page.contains(way) && !page.contains("<img"), "{}", &page[page.find("<header").unwrap()..][..900]);
    let without = compare_html(&CompareDocument::default(), &[]).unwrap();
    assert!(!without.contains("beside this one"));
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
    let hostile = Value::from(common::HOSTILE.replace('\u{202e}', "\u{fffd}"));
    assert!(given(&page)["names"].as_array().unwrap().contains(&hostile), "the name of a kernel");
    assert!(!page.contains('\u{202e}'), "text that runs backwards");
}

#[test]
fn a_rate_that_is_not_a_number_is_absent() {
    let mut document = common::eight_gpus();
    document.collectives.groups[0].busbw_gbps_mean = Some(f64::NAN);
    document.collectives.groups[0].algbw_gbps_mean = Some(f64::INFINITY);
    let page = page("not_a_number", &document);
    assert_eq!(given(&page)["collectives"]["groups"][0]["busbw_gbps_mean"], Value::Null);
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
    let given = given(&page);
    assert_eq!(given["ranks"]["about"].as_array().unwrap().len(), 4096);
    assert!(given["collectives"]["instances"]["start_ns"].as_array().unwrap().len() < 30);
}

/// What a reader waits for on opening a page: its bytes are read, parsed and drawn.
#[test]
fn pages_stay_within_their_budgets() {
    for (ranks, steps, collectives, budget) in
        [(8, 500, 3_000, 300_000), (64, 500, 3_000, 2_000_000), (1_024, 500, 3_000, 5_000_000)]
    {
        let mut document = common::answers::answered(common::as_listed(common::job(ranks, steps, collectives)));
        if ranks > 256 {
            // Of so many ranks, kernels are listed for all together.
            document.ranks.iter_mut().for_each(|rank| rank.kernels.clear());
        }
        let page = page(&format!("budget_{ranks}"), &document);
        assert!(page.len() < budget, "{} bytes of {budget} for {ranks} ranks and {steps} steps", page.len());
    }
    let empty = page("budget_of_scripts", &Document::default());
    assert!(empty.len() < 125_000, "{} bytes of scripts and styles", empty.len());
}

#[test]
fn a_thousand_ranks_by_a_hundred_steps() {
    assert!(page("thousand_by_hundred", &common::job(1000, 100, 60)).len() < 40 << 20);
}
