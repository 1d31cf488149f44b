//! What others check better than we could: types by TypeScript, access for everybody by axe-core.
//!
//! Both come from npm and are needed here only. `RANKSCOPE_NODE_MODULES` names the folder `node_modules` that has them;
//! `cargo xtask ci page` makes one.

use std::path::Path;
use std::process::Command;

use rankscope_testkit::{Need, given};

use super::{LOOKS, browser, pages, written};

#[test]
fn the_modules_have_types_that_agree() {
    let Some(modules) = given(Need::NodeModules) else { return };
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/tsconfig.json");
    let checked = Command::new(modules.join(".bin/tsc")).arg("-p").arg(config).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}

#[test]
fn nobody_is_kept_out_of_a_page() {
    let Some(modules) = given(Need::NodeModules) else { return };
    let Some(mut browser) = browser() else { return };
    let axe = std::fs::read_to_string(modules.join("axe-core/axe.min.js")).unwrap();
    let mut violations = Vec::new();
    for (name, page) in pages() {
        let path = written(&format!("axe-{name}"), &page);
        for look in [LOOKS[0], LOOKS[3]] {
            browser.open(&format!("file://{}", path.display()), look);
            browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; }); 0");
            browser.evaluate(&format!("{axe}; 0"));
            let found = browser.evaluate(
                "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)}`))",
            );
            violations.extend(found.as_array().expect("a list").iter().map(|found| format!("{name} at {look:?}: {found}")));
        }
    }
    assert_eq!(violations, [""; 0]);
}
