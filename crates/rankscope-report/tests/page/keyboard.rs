//! The report without a mouse: every control is reached, does what it says, and a selection is one for the whole page.

use serde_json::Value;

use super::browser::{Browser, Look};
use super::{LOOKS, browser, common, written};
use rankscope_report::{clock_html, compare_html, dispatch_html, html, validation_html};

/// The page of eight GPUs, open at `fragment`.
fn opened(browser: &mut Browser, fragment: &str, look: Look) {
    let page = written("keyboard", &html(&common::eight_gpus()).expect("the template renders"));
    browser.open("about:blank", look);
    browser.open(&format!("file://{}{fragment}", page.display()), look);
}

fn text(browser: &mut Browser, expression: &str) -> String {
    browser.evaluate(expression).as_str().unwrap_or_default().to_owned()
}

/// The address's fragment, the name in the selection bar, and how many buttons are pressed.
fn selected(browser: &mut Browser) -> (String, String, bool) {
    let name = "document.querySelector(\"#selected\").hidden ? \"\" : document.querySelector(\"#selected b\").textContent";
    let pressed = browser.evaluate("document.querySelectorAll(\".pick[aria-pressed=true]\").length > 0");
    (text(browser, "location.hash"), text(browser, name), pressed == Value::Bool(true))
}

fn of(hash: &str, name: &str, pressed: bool) -> (String, String, bool) {
    (hash.to_owned(), name.to_owned(), pressed)
}

#[test]
fn keys_select_and_a_link_keeps_it() {
    let Some(mut browser) = browser() else { return };
    opened(&mut browser, "#step=3&rank=5", LOOKS[0]);
    assert_eq!(selected(&mut browser), of("#step=3&rank=5", "Rank 5, step 3", true));
    for (key, hash, name) in [
        ("j", "#step=3&rank=6", "Rank 6, step 3"),
        ("k", "#step=3&rank=5", "Rank 5, step 3"),
        ("l", "#step=4&rank=5", "Rank 5, step 4"),
        ("h", "#step=3&rank=5", "Rank 5, step 3"),
    ] {
        browser.press(key);
        assert_eq!(selected(&mut browser), of(hash, name, true), "after {key}");
    }
    browser.press("Escape");
    assert_eq!(selected(&mut browser), of("", "", false));
    opened(&mut browser, "#step=3&rank=99", LOOKS[0]);
    assert_eq!(selected(&mut browser).1, "", "a rank that the job does not have");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_rank_that_is_selected_is_the_one_whose_kernels_are_listed() {
    let Some(mut browser) = browser() else { return };
    opened(&mut browser, "#rank=3", LOOKS[0]);
    let listed = "document.querySelector(\"#rank table\").getAttribute(\"aria-label\")";
    assert_eq!(text(&mut browser, listed), "What ran longest on rank 3");
    browser.press("j");
    assert_eq!(text(&mut browser, listed), "What ran longest on rank 4");
    browser.evaluate("const choice = document.querySelector(\"#rank select\"); choice.value = \"6\"; choice.dispatchEvent(new Event(\"change\")); 0");
    assert_eq!(selected(&mut browser), of("#rank=6", "Rank 6", true));
}

#[test]
fn arrow_keys_select_cells_of_the_map() {
    let Some(mut browser) = browser() else { return };
    opened(&mut browser, "", LOOKS[1]);
    browser.evaluate("document.querySelector(\"#steps canvas\").focus()");
    for (key, name) in [
        ("ArrowRight", "Rank 0, step 0"),
        ("ArrowRight", "Rank 0, step 1"),
        ("ArrowDown", "Rank 1, step 1"),
        ("ArrowLeft", "Rank 1, step 0"),
        ("ArrowUp", "Rank 0, step 0"),
        ("ArrowUp", "Rank 0, step 0"),
    ] {
        browser.press(key);
        assert_eq!(selected(&mut browser).1, name, "after {key}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn tab_reaches_every_control_and_each_has_a_name() {
    let Some(mut browser) = browser() else { return };
    for look in [LOOKS[0], LOOKS[3]] {
        opened(&mut browser, "#rank=5", look);
        let controls = "a[href], button, select, input, summary, [tabindex=\"0\"]";
        let visible = format!(
            "globalThis.controls = [...document.querySelectorAll('{controls}')].filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0); globalThis.reached = new Set(); controls.length"
        );
        let count = browser.evaluate(&visible).as_u64().unwrap();
        assert!(count > 20, "{count} controls");
        for _ in 0..count + 8 {
            browser.press("Tab");
            browser.evaluate("reached.add(document.activeElement); 0");
        }
        let describe = "(one) => one.outerHTML.slice(0, 90)";
        let missed = browser.evaluate(&format!("controls.filter((one) => !reached.has(one)).map({describe})"));
        assert_eq!(missed, Value::Array(Vec::new()), "at {look:?}");
        let named = "(one) => (one.getAttribute('aria-label') || one.closest('label')?.textContent || one.textContent).trim()";
        let nameless = browser.evaluate(&format!("controls.filter((one) => !({named})(one)).map({describe})"));
        assert_eq!(nameless, Value::Array(Vec::new()), "at {look:?}");
    }
}

#[test]
fn a_button_of_a_rank_selects_it_and_lets_it_go() {
    let Some(mut browser) = browser() else { return };
    opened(&mut browser, "", LOOKS[0]);
    browser.evaluate("document.querySelector(\"#time details\").open = true");
    browser.evaluate("document.querySelector(\"#time .pick[data-rank='3']\").focus()");
    browser.press("Enter");
    assert_eq!(selected(&mut browser), of("#rank=3", "Rank 3", true));
    let everywhere = "[\"time\", \"late\", \"clocks\"].every((id) => document.querySelector(`#${id} .pick[data-rank='3']`).getAttribute(\"aria-pressed\") === \"true\")";
    assert_eq!(browser.evaluate(everywhere), Value::Bool(true));
    browser.press("Enter");
    assert_eq!(selected(&mut browser), of("", "", false));
    browser.press("?");
    assert_eq!(browser.evaluate("document.querySelector(\"#keys\").open"), Value::Bool(true));
    browser.press("Escape");
    assert_eq!(browser.evaluate("document.querySelector(\"#keys\").open"), Value::Bool(false));
    assert_eq!(browser.complaints(), [""; 0]);
}

/// The page of a comparison of eight ranks, open at `fragment`.
fn compared(browser: &mut Browser, name: &str, fragment: &str) {
    let page = compare_html(&common::compared::document(8, 40, 1), &[]).expect("the template renders");
    browser.open("about:blank", LOOKS[0]);
    browser.open(&format!("file://{}{fragment}", written(name, &page).display()), LOOKS[0]);
}

#[test]
fn a_comparison_shows_one_step_of_both_sides_and_selects_as_a_report_does() {
    let Some(mut browser) = browser() else { return };
    compared(&mut browser, "compared-selected", "#step=6&rank=3");
    assert_eq!(selected(&mut browser), of("#step=6&rank=3", "Rank 3, step 6", true));
    let headings = "[...document.querySelectorAll('#strips h3')].map((one) => one.textContent).join('; ')";
    assert_eq!(text(&mut browser, headings), "base, step 6: 48.0\u{202f}ms; test1, step 6: 51.0\u{202f}ms");
    for (key, name) in [("l", "Rank 3, step 7"), ("j", "Rank 4, step 7"), ("h", "Rank 4, step 6")] {
        browser.press(key);
        assert_eq!(selected(&mut browser).1, name, "after {key}");
    }
    browser.evaluate("document.querySelector(\"#distributions .cover[data-rank='5']\").dispatchEvent(new Event(\"click\")); 0");
    assert_eq!(selected(&mut browser).1, "Rank 5, step 6");
    browser.evaluate("document.querySelector(\"#strips select\").focus()");
    browser.press("Escape");
    browser.evaluate("document.activeElement.blur()");
    browser.press("Escape");
    assert_eq!(selected(&mut browser), of("", "", false));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn what_a_figure_means_is_unfolded_when_the_figure_asks() {
    let Some(mut browser) = browser() else { return };
    compared(&mut browser, "compared-unfolded", "");
    let is_open = "document.querySelector(\"#definitions details\").open";
    assert_eq!(browser.evaluate(is_open), Value::Bool(false));
    browser.evaluate("document.querySelector(\"#verdicts a[href='#def-verdict']\").click()");
    assert_eq!(browser.evaluate(is_open), Value::Bool(true));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_plan_clocks_and_validation_take_a_selection_from_a_link_and_from_keys() {
    let Some(mut browser) = browser() else { return };
    let plan = dispatch_html(&common::plans::plan(64, 80)).expect("the template renders");
    let clocks = clock_html(&common::clocks::document(60, 10)).expect("the template renders");
    let checked = validation_html(&common::checked::document(), &[]).expect("the template renders");
    for (page, link, name, key, next) in [
        (written("plan-selected", &plan), "#rank=3", "Rank 3", "j", "Rank 4"),
        (written("clocks-selected", &clocks), "#round=7&node=2", "Node 2, round 7", "l", "Node 2, round 8"),
        (written("checked-selected", &checked), "#rank=3", "Rank 3", "j", "Rank 4"),
    ] {
        browser.open("about:blank", LOOKS[0]);
        browser.open(&format!("file://{}{link}", page.display()), LOOKS[0]);
        assert_eq!(selected(&mut browser), of(link, name, true));
        browser.press(key);
        assert_eq!(selected(&mut browser).1, next, "after {key}");
        browser.press("Escape");
        assert_eq!(selected(&mut browser), of("", "", false));
        assert_eq!(browser.complaints(), [""; 0]);
    }
}

/// The figures that the chart of `section` reads aloud, after each of `keys`.
fn read_aloud(browser: &mut Browser, section: &str, keys: &[&str]) -> Vec<String> {
    browser.evaluate(&format!("document.querySelector('#{section} canvas').focus(); 0"));
    let read = |key: &&str| {
        browser.press(key);
        text(browser, "document.querySelector('#tip').hidden ? '' : document.querySelector('#tip b').textContent")
    };
    keys.iter().map(read).collect()
}

#[test]
fn a_chart_of_series_is_read_zoomed_and_taken_from_by_keys() {
    let Some(mut browser) = browser() else { return };
    let clocks = written("clocks-read", &clock_html(&common::clocks::document(60, 10)).expect("the template renders"));
    browser.open("about:blank", LOOKS[0]);
    browser.open(&format!("file://{}#node=2", clocks.display()), LOOKS[0]);
    let keys = ["ArrowRight", "ArrowRight", "ArrowLeft", "Escape"];
    let rounds = ["round 0 · 0.0 s", "round 1 · 4.0 s", "round 0 · 0.0 s", "round 0 · 0.0 s"];
    assert_eq!(read_aloud(&mut browser, "offsets", &keys), rounds);
    // Half of 236 s around the round that is read, and further on than what is shown.
    let zoomed = read_aloud(&mut browser, "offsets", &["+", "+", "+", "ArrowRight"]);
    assert_eq!(zoomed.last().map(String::as_str), Some("round 1 · 4.0 s"));
    let last = read_aloud(&mut browser, "offsets", &["ArrowRight"; 70]).pop();
    assert_eq!(last.as_deref(), Some("round 59 · 236.0 s"), "what is shown goes along");
    browser.press("Enter");
    assert_eq!(selected(&mut browser).1, "Round 59");
    browser.press("0");
    browser.evaluate("document.activeElement.blur()");
    assert_eq!(browser.evaluate("document.querySelector('#tip').hidden"), Value::Bool(true));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_click_takes_a_round_and_a_drag_takes_none() {
    let Some(mut browser) = browser() else { return };
    let clocks = written("clocks-clicked", &clock_html(&common::clocks::document(60, 10)).expect("the template renders"));
    browser.open("about:blank", LOOKS[0]);
    browser.open(&format!("file://{}", clocks.display()), LOOKS[0]);
    // As a mouse says it: down, over to `to`, up, and then the click.
    let mouse = |from: f64, to: f64| {
        format!(
            "(() => {{ const over = document.querySelector('.u-over'); const box = over.getBoundingClientRect(); const say = (type, share, kind = MouseEvent) => over.dispatchEvent(new kind(type, {{ bubbles: true, button: 0, movementX: 9, clientX: box.left + share * box.width, clientY: box.top + 50 }})); say('mousemove', {from}); say('pointerdown', {from}, PointerEvent); say('mousedown', {from}); say('mousemove', {to}); say('mouseup', {to}); say('click', {to}); }})(); 0"
        )
    };
    browser.evaluate(&mouse(0.51, 0.51));
    assert_eq!(selected(&mut browser).1, "Round 30", "120 s of 236 s");
    browser.press("Escape");
    browser.evaluate(&mouse(0.25, 0.75));
    assert_eq!(selected(&mut browser).1, "");
    browser.evaluate("new Promise((done) => setTimeout(done, 50)).then(() => 0)");
    browser.evaluate(&mouse(0.0, 0.0));
    assert_eq!(selected(&mut browser).1, "Round 15", "where the drag began");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn a_rank_that_is_selected_is_the_one_whose_findings_are_listed() {
    let Some(mut browser) = browser() else { return };
    let checked =
        written("checked-filtered", &validation_html(&common::checked::document(), &[]).expect("the template renders"));
    browser.open("about:blank", LOOKS[0]);
    browser.open(&format!("file://{}#rank=3", checked.display()), LOOKS[0]);
    let ranks = "[...new Set([...document.querySelectorAll('#findings-of-rules tbody tr')].map((row) => row.children[1].textContent))].join()";
    let rules = "[...document.querySelectorAll('#findings-of-rules tbody tr')].map((row) => row.children[0].textContent)";
    assert_eq!(text(&mut browser, &format!("String({rules}.includes('warning damage'))")), "true", "what is of rank 3 itself");
    let whom = "String([...document.querySelectorAll('#findings-of-rules tbody tr')].every((row) => row.children[1].textContent === '3' || row.children[6].textContent.includes('rank 3 has left')))";
    assert_eq!(text(&mut browser, whom), "true");
    browser.press("Escape");
    assert_ne!(text(&mut browser, ranks), "3");
    let choose = "const choice = document.querySelector('#findings-of-rules select'); choice.value = 'nesting'; choice.dispatchEvent(new Event('change')); 0";
    browser.evaluate(choose);
    assert_eq!(text(&mut browser, &format!("String({rules}.every((rule) => rule === 'loss nesting'))")), "true");
    assert_eq!(browser.complaints(), [""; 0]);
}
