//! JSON inside a `<script>` element, where the HTML parser looks for `</script` and `<!--` before any JSON parser sees it, and for
//! a page that shows text from files as it is, so nothing in it may change the direction of writing.

use serde::Serialize;

use crate::text::{clean, steers};

/// The value as JSON in which no character can end, comment out or nest a script element.
///
/// Outside strings JSON has no `<`, `>` or `&`, so replacing them everywhere by their escapes changes no value.
pub(crate) fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("documents hold nothing that JSON cannot, and a String takes any write");
    let text = ESCAPES.iter().fold(text, |text, &(c, escape)| if text.contains(c) { text.replace(c, escape) } else { text });
    // On one line, and with controls below a space escaped, it holds none that are not text.
    if text.contains(steers) { clean(&text) } else { text }
}

/// The last two end a line in scripts of old, though not in JSON.
const ESCAPES: [(char, &str); 5] =
    [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_ends_the_script_and_nothing_is_lost() {
        let hostile = "</script><!-- & \" \u{2028} <script>";
        let text = super::json(&hostile);
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
        assert_eq!(super::json(&"a\u{202e}b\u{9b}"), "\"a\u{fffd}b\u{fffd}\"");
    }
}
