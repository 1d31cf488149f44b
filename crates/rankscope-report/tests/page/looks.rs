//! How pages look: where their parts are, and a coarse picture of the first screen, beside what somebody looked at and found good.
//!
//! Fonts and Chromium's versions move edges by a few pixels and change no layout, so neither is compared exactly. Parts are boxes with a
//! tolerance; a picture has a digit of brightness for every 24 by 24 pixels, and may be off by a little in many places or by much in few. Both
//! are text under `tests/looks`, and a change of them is reviewed like any other. `RANKSCOPE_WRITE_LOOKS=1` writes them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rankscope_report::{clock_html, compare_html, dispatch_html, html, validation_html};
use serde_json::Value;

use super::browser::{Browser, Look};
use super::{browser, common, written};

const LOOKED_AT: [Look; 4] = [
    Look { width: 1440, dark: false, used: false },
    Look { width: 1440, dark: true, used: false },
    Look { width: 390, dark: false, used: false },
    Look { width: 390, dark: true, used: false },
];

/// A part of a page, and its box in pixels.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    name: String,
    x: i64,
    width: i64,
    height: i64,
}

/// What is seen of a page.
#[derive(Debug, PartialEq)]
struct Picture {
    /// From the top of the page to its end.
    parts: Vec<Part>,
    /// Brightness of the first screen in rows, 0 to 9.
    rows: Vec<String>,
}

#[test]
fn pages_look_as_they_did_when_somebody_looked() {
    let Some(mut browser) = browser() else { return };
    let writes = std::env::var_os("RANKSCOPE_WRITE_LOOKS").is_some();
    let mut differences = Vec::new();
    for (name, page) in pages() {
        let path = written(&format!("look-{name}"), &page);
        for look in LOOKED_AT {
            let scheme = if look.dark { "dark" } else { "light" };
            let golden = folder().join(format!("{name}-{}-{scheme}.txt", look.width));
            let seen = seen(&mut browser, &path, look);
            if writes {
                std::fs::write(&golden, seen.text()).expect("the folder of looks is there");
                continue;
            }
            let known = std::fs::read_to_string(&golden).unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
            let found = Picture::parse(&known).differs_from(&seen);
            differences.extend(found.into_iter().map(|what| format!("{}: {what}", golden.display())));
        }
    }
    assert_eq!(differences, [""; 0]);
}

/// One page of every kind.
fn pages() -> [(&'static str, String); 5] {
    let pages = [
        ("report", html(&common::answers::answered(common::eight_gpus()))),
        ("comparison", compare_html(&common::compared::document(8, 40, 1), &[])),
        ("plan", dispatch_html(&common::plans::plan(64, 80))),
        ("clocks", clock_html(&common::clocks::document(60, 10))),
        ("validation", validation_html(&common::checked::document(), &[])),
    ];
    pages.map(|(name, page)| (name, page.expect("the template renders")))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/looks")
}

fn seen(browser: &mut Browser, page: &Path, look: Look) -> Picture {
    browser.open("about:blank", look);
    browser.open(&format!("file://{}", page.display()), look);
    let parts = browser.evaluate(PARTS);
    let png = browser.screenshot();
    browser.open("about:blank", look);
    let rows = browser.evaluate(&BRIGHTNESS.replace("PNG", &png));
    let list = |value: &Value| value.as_array().cloned().expect("a list");
    let number = |value: &Value| value.as_i64().expect("a whole number");
    let part = |part: &Value| Part {
        name: part["name"].as_str().expect("a name").to_owned(),
        x: number(&part["x"]),
        width: number(&part["width"]),
        height: number(&part["height"]),
    };
    Picture {
        parts: list(&parts).iter().map(part).collect(),
        rows: list(&rows).iter().map(|row| row.as_str().expect("digits").to_owned()).collect(),
    }
}

/// The boxes of what a page is made of, from its top to its end.
const PARTS: &str = r##"(async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    await frame();
    await frame();
    const named = (one) => one.id || [one.closest("section")?.id, one.tagName.toLowerCase()].filter(Boolean).join(" ");
    const boxes = [...document.querySelectorAll("header, nav, section, .card, .mean-step, section > table, section canvas, footer")];
    return boxes.map((one) => ({ one, box: one.getBoundingClientRect() })).filter(({ box }) => box.width > 0).map(({ one, box }) => ({
        name: named(one), x: Math.round(box.left), width: Math.round(box.width), height: Math.round(box.height),
    }));
})()"##;

/// The brightness of every 24 by 24 pixels of a picture.
const BRIGHTNESS: &str = r##"(async () => {
    const bytes = Uint8Array.from(atob("PNG"), (one) => one.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const [columns, rows] = [Math.floor(picture.width / 24), Math.floor(picture.height / 24)];
    const pen = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    pen.drawImage(picture, 0, 0);
    const digit = (x, y) => {
        const { data } = pen.getImageData(x * 24, y * 24, 24, 24);
        let sum = 0;
        for (let at = 0; at < data.length; at += 4) sum += 0.3 * data[at] + 0.59 * data[at + 1] + 0.11 * data[at + 2];
        return Math.min(9, Math.floor(sum / (data.length / 4) / 25.6));
    };
    return Array.from({ length: rows }, (_, y) => Array.from({ length: columns }, (_, x) => digit(x, y)).join(""));
})()"##;

/// Pixels that an edge across the page may move, and a share of a height with some lines of text.
const ACROSS: i64 = 12;
const DOWN: (f64, i64) = (0.2, 40);

/// How much brighter or darker the places of a picture may be on average, and how many of a hundred may be so by more than two digits.
const MEAN_DIGITS: f64 = 0.6;
const FAR_PERCENT: usize = 8;

impl Picture {
    fn text(&self) -> String {
        let mut text = String::new();
        for Part { name, x, width, height } in &self.parts {
            writeln!(text, "{name}: x {x}, width {width}, height {height}").expect("a string takes everything");
        }
        format!("{text}\n{}\n", self.rows.join("\n"))
    }

    fn parse(text: &str) -> Self {
        let (parts, rows) = text.split_once("\n\n").expect("parts, an empty line, and the picture");
        let part = |line: &str| {
            let (name, figures) = line.split_once(": x ").expect("a name and its box");
            let figures: Vec<i64> =
                figures.split(|c: char| !(c.is_ascii_digit() || c == '-')).filter_map(|figure| figure.parse().ok()).collect();
            let [x, width, height] = figures[..] else { panic!("{line}") };
            Part { name: name.to_owned(), x, width, height }
        };
        Self { parts: parts.lines().map(part).collect(), rows: rows.lines().map(str::to_owned).collect() }
    }

    fn differs_from(&self, seen: &Self) -> Vec<String> {
        let names = |picture: &Self| picture.parts.iter().map(|part| part.name.clone()).collect::<Vec<_>>();
        if names(self) != names(seen) {
            return vec![format!("has other parts: {:?} instead of {:?}", names(seen), names(self))];
        }
        let moved = |(known, seen): (&Part, &Part)| {
            let across = (known.x - seen.x).abs().max((known.width - seen.width).abs());
            let down = (known.height - seen.height).abs();
            let is_far = across > ACROSS || down as f64 > DOWN.0 * known.height as f64 + DOWN.1 as f64;
            is_far.then(|| format!("{seen:?} was {known:?}"))
        };
        let mut found: Vec<String> = self.parts.iter().zip(&seen.parts).filter_map(moved).collect();
        found.extend(differing(&self.rows, &seen.rows));
        found
    }
}

/// In a sentence how far two pictures are apart, if they are.
fn differing(known: &[String], seen: &[String]) -> Option<String> {
    let digits = |rows: &[String]| rows.concat().bytes().map(|digit| i64::from(digit - b'0')).collect::<Vec<_>>();
    let (known, seen) = (digits(known), digits(seen));
    if known.len() != seen.len() {
        return Some(format!("the picture has {} places instead of {}", seen.len(), known.len()));
    }
    let apart: Vec<i64> = known.iter().zip(&seen).map(|(one, other)| (one - other).abs()).collect();
    let mean = apart.iter().sum::<i64>() as f64 / apart.len().max(1) as f64;
    let far = apart.iter().filter(|apart| **apart > 2).count() * 100;
    (mean > MEAN_DIGITS || far > FAR_PERCENT * apart.len())
        .then(|| format!("the picture is off by {mean:.2} on average, and far off in {} places of {}", far / 100, apart.len()))
}

#[test]
fn what_moves_is_told_and_what_fonts_do_is_not() {
    let part = |x, height| Part { name: "nav".to_owned(), x, width: 300, height };
    let picture = |x, height, rows: [&str; 2]| Picture { parts: vec![part(x, height)], rows: rows.map(str::to_owned).into() };
    let known = picture(20, 100, ["9990", "0999"]);
    assert_eq!(Picture::parse(&known.text()), known);
    assert_eq!(known.differs_from(&picture(24, 140, ["9980", "0999"])), [""; 0]);
    assert_eq!(known.differs_from(&picture(60, 100, ["9990", "0999"])).len(), 1, "an edge");
    assert_eq!(known.differs_from(&picture(20, 400, ["9990", "0999"])).len(), 1, "a height");
    assert_eq!(known.differs_from(&picture(20, 100, ["0009", "9000"])).len(), 1, "a picture");
    let other = Picture { parts: Vec::new(), rows: known.rows.clone() };
    assert_eq!(known.differs_from(&other).len(), 1, "a part that is gone");
}
