//! Style sheets without comments and without the white space that separates nothing. What stands in quotes stays as it is.

/// `sheet` on one line.
pub(crate) fn squeezed(sheet: &str) -> String {
    let mut out = String::with_capacity(sheet.len());
    let mut rest = sheet;
    let mut spaced = false;
    while let Some(c) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
        } else if c.is_whitespace() {
            (rest, spaced) = (rest.trim_start(), true);
        } else {
            let piece = if matches!(c, '"' | '\'') { quoted(rest, c) } else { &rest[..c.len_utf8()] };
            if c == '}' && out.ends_with(';') {
                out.pop();
            }
            if spaced && !out.is_empty() && !out.ends_with(['{', '}', ';', ',', ':', '>']) && !"{};,>".contains(c) {
                out.push(' ');
            }
            out.push_str(piece);
            (rest, spaced) = (&rest[piece.len()..], false);
        }
    }
    out
}

/// From an opening quote to the same that closes it.
fn quoted(text: &str, quote: char) -> &str {
    let mut escaped = false;
    let closes = |(_, c): &(usize, char)| {
        let closes = *c == quote && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    };
    text.char_indices().skip(1).find(closes).map_or(text, |(at, c)| &text[..at + c.len_utf8()])
}
