//! JSON inside a `<script>` element, where the HTML parser looks for `</script` and `<!--` before any JSON parser sees it.

use serde::Serialize;

/// The value as JSON in which no character can end, comment out or nest a script element.
///
/// Outside strings JSON has no `<`, `>` or `&`, so replacing them everywhere by their escapes changes no value.
pub(super) fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("documents hold nothing that JSON cannot, and a String takes any write");
    let mut safe = String::with_capacity(text.len() + text.len() / 16);
    for c in text.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_ends_the_script_and_nothing_is_lost() {
        let hostile = "</script><!-- & \" \u{2028} <script>";
        let text = super::json(&hostile);
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
    }
}
