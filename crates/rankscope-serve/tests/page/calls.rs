//! The call tree of an operator, without a mouse: it opens from an operator, from a kernel and from a link, and keys go along it.

use rankscope_testkit::{Need, given};

use super::browser::Browser;
use super::served::{HOSTILE, served};
use super::{LOOKS, awaited, browser, text};

/// The page of the run, open at `fragment`.
fn opened(browser: &mut Browser, fragment: &str, look: usize) {
    browser.open("about:blank", LOOKS[look]);
    browser.open(&format!("http://{}/runs/job/{fragment}", served()), LOOKS[look]);
}

const SAID: &str = "(document.querySelector('#trees table') && document.querySelector('#tree-said').textContent)";
/// What is in focus: the name of its row, its level, and whether it is open.
const FOCUS: &str = "(() => { const row = document.activeElement; const name = row.querySelector('.name :is(a, bdi, i)'); return name ? `${name.textContent} ${row.getAttribute('aria-level')} ${row.getAttribute('aria-expanded') ?? ''}`.trim() : ''; })()";

#[test]
fn a_link_opens_a_tree_and_keys_go_along_it() {
    let Some(mut browser) = browser() else { return };
    for look in 0..LOOKS.len() {
        opened(&mut browser, "#operator=aten%3A%3Alinear&rank=3&step=12", look);
        let said = awaited(&mut browser, SAID);
        assert_eq!(
            said,
            "rank 3, step 12: 2 calls took 100 us, 20.0 us of it themselves, and launched 2 kernels and copies of 90.0 us in all."
        );
        let fields = "['operator', 'rank', 'step'].map((key) => document.querySelector('#tree').elements[key].value).join()";
        assert_eq!(text(&mut browser, fields), "aten::linear,3,12");
        browser.evaluate("document.querySelector('#trees [tabindex=\"0\"]').focus()");
        for (key, focus) in [
            ("ArrowDown", "aten::mm 2 true"),
            ("ArrowRight", "cudaLaunchKernel 3"),
            ("ArrowLeft", "aten::mm 2 true"),
            ("ArrowLeft", "aten::mm 2 false"),
            ("ArrowDown", "aten::view 2 false"),
            ("ArrowRight", "aten::view 2 true"),
            ("ArrowRight", "7 shorter or deeper calls, not listed 3"),
            ("Home", "aten::linear 1 true"),
            ("ArrowUp", "aten::linear 1 true"),
            ("End", "7 shorter or deeper calls, not listed 3"),
        ] {
            browser.press(key);
            assert_eq!(text(&mut browser, FOCUS), focus, "after {key}");
        }
        for _ in 0..2 {
            browser.press("ArrowUp");
        }
        browser.press("Enter");
        assert_eq!(text(&mut browser, "location.hash"), "#operator=aten%3A%3Amm&rank=3&step=12");
        let wide = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(wide.as_i64().unwrap() <= 0, "{wide} pixels too wide");
        assert_eq!(browser.complaints(), [""; 0]);
    }
}

#[test]
fn operators_and_kernels_lead_to_their_trees_and_names_are_no_markup() {
    let Some(mut browser) = browser() else { return };
    opened(&mut browser, "", 0);
    let rank = "document.querySelector('#operators').elements.rank.value !== '0' && document.querySelector('#operators').elements.rank.value";
    assert_eq!(awaited(&mut browser, rank), "5", "the rank that the report names first");
    browser.evaluate("document.querySelector('#operators').requestSubmit()");
    let link = "document.querySelector('#operator-rows a')?.getAttribute('href')";
    assert_eq!(awaited(&mut browser, link), "#operator=aten%3A%3Alinear&rank=5");
    let names =
        text(&mut browser, "[...document.querySelectorAll('#operator-rows a')].map((one) => one.textContent).join(' ')");
    assert_eq!(names, format!("aten::linear {}", HOSTILE.replace('\u{202e}', "\u{fffd}")));
    browser.evaluate(
        "document.querySelector('#kernels').elements.step.value = 4; document.querySelector('#kernels').requestSubmit()",
    );
    let link = "document.querySelector('#kernel-rows a')?.getAttribute('href')";
    assert_eq!(awaited(&mut browser, link), "#operator=aten%3A%3Amm&rank=5&step=4");
    browser.evaluate("document.querySelectorAll('#operator-rows a')[1].focus()");
    browser.press("Enter");
    assert!(awaited(&mut browser, SAID).starts_with("rank 5: 2 calls took"));
    let root = text(&mut browser, "document.querySelector('#trees bdi').textContent");
    assert_eq!(root, HOSTILE.replace('\u{202e}', "\u{fffd}"));
    assert_eq!(browser.evaluate("document.images.length"), 0);
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn what_cannot_be_read_is_a_sentence_and_what_takes_long_can_be_given_up() {
    let Some(mut browser) = browser() else { return };
    opened(&mut browser, "#operator=f&rank=9", 0);
    let said = awaited(
        &mut browser,
        "document.querySelector('#tree-said').textContent.includes('raw/') && document.querySelector('#tree-said').textContent",
    );
    assert!(said.starts_with("The traces of this run cannot be read") && said.contains("--traces"), "{said}");
    opened(&mut browser, "#operator=f&rank=8", 0);
    assert_eq!(
        awaited(&mut browser, "document.querySelector('#tree-cancel').hidden ? '' : 'it can be given up'"),
        "it can be given up"
    );
    browser.evaluate("document.querySelector('#tree-cancel').click()");
    let said = awaited(
        &mut browser,
        "document.querySelector('#tree-cancel').hidden && document.querySelector('#tree-said').textContent",
    );
    assert_eq!(said, "Given up. Show asks again.");
    // Who asks for another one does not see the first.
    browser.evaluate("location.hash = '#operator=slow&rank=8'");
    browser.evaluate("location.hash = '#operator=quick&rank=1'");
    assert!(awaited(&mut browser, SAID).starts_with("rank 1:"));
    browser.evaluate("new Promise((done) => setTimeout(done, 1200))");
    assert_eq!(text(&mut browser, "document.querySelector('#trees bdi').textContent"), "quick");
}

#[test]
fn nobody_is_kept_out_of_a_tree() {
    let Some(modules) = given(Need::NodeModules) else { return };
    let Some(mut browser) = browser() else { return };
    let axe = std::fs::read_to_string(modules.join("axe-core/axe.min.js")).unwrap();
    for look in 0..LOOKS.len() {
        opened(&mut browser, "#operator=aten%3A%3Alinear&rank=3", look);
        awaited(&mut browser, SAID);
        browser.evaluate(&format!("{axe}; 0"));
        let found = browser.evaluate(
            "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)}`))",
        );
        assert_eq!(found, serde_json::json!([]), "look {look}");
    }
}
