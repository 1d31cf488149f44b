//! "Open in Perfetto", with somebody in the place of ui.perfetto.dev: what it is handed, and when.

use super::served::{TIMELINE, served};
use super::{LOOKS, awaited, browser};

/// A page that answers as Perfetto's UI does, late as one that still loads, and keeps what it is told.
const UI: &str = "<!doctype html><title>plays the UI</title><script>
globalThis.told = [];
addEventListener('message', (event) => {
  if (event.data === 'PING') { if (performance.now() > 300) event.source.postMessage('PONG', event.origin); return; }
  told.push({ from: event.origin, title: event.data.perfetto.title, text: new TextDecoder().decode(event.data.perfetto.buffer) });
});
</script>";

#[test]
fn the_timeline_arrives_in_the_ui_once() {
    let Some(mut browser) = browser() else { return };
    let address = served();
    browser.stands_in("https://ui.perfetto.dev/*", UI);
    browser.open(&format!("http://{address}/"), LOOKS[0]);
    assert_eq!(awaited(&mut browser, "document.querySelector('button')?.textContent"), "open in Perfetto");
    browser.evaluate("document.querySelector('button').focus()");
    let ui = browser.window_of(|browser| browser.press("Enter"));
    let told = "globalThis.told?.length > 0 && JSON.stringify([location.href, ...told])";
    let told = browser.in_window(&ui, |browser| awaited(browser, told));
    let told: serde_json::Value = serde_json::from_str(&told).expect("it was told something");
    let handed = serde_json::json!({ "from": format!("http://{address}"), "title": "job", "text": std::str::from_utf8(TIMELINE).unwrap() });
    assert_eq!(told, serde_json::json!(["https://ui.perfetto.dev/#!/?visStart=1&visEnd=9", handed]));
    browser.in_window(&ui, |browser| browser.evaluate("new Promise((done) => setTimeout(done, 300))"));
    assert_eq!(browser.in_window(&ui, |browser| browser.evaluate("told.length")), 1, "it is handed over once");
    assert_eq!(browser.evaluate("document.querySelector('button').textContent"), "open in Perfetto");
}

#[test]
fn a_ui_that_is_closed_again_is_said_and_not_asked_for_ever() {
    let Some(mut browser) = browser() else { return };
    let address = served();
    browser.stands_in("https://ui.perfetto.dev/*", "<!doctype html><title>never answers</title>");
    browser.open(&format!("http://{address}/"), LOOKS[0]);
    awaited(&mut browser, "document.querySelector('button')?.textContent");
    browser.evaluate("document.querySelector('button').focus()");
    let ui = browser.window_of(|browser| browser.press("Enter"));
    browser.in_window(&ui, |browser| browser.evaluate("setTimeout(() => close(), 0); 0"));
    let said = "document.querySelector('button').textContent.startsWith('its') && document.querySelector('button').textContent";
    assert_eq!(awaited(&mut browser, said), "its window was closed before it had the timeline");
}
