//! White space that a script does not need, left out. Names, and the order of everything, stay: what one reads in a browser is the module.
//!
//! A line end is kept where a statement may end by it, which is everywhere but behind an opening bracket, a comma or a semicolon, and before
//! a closing bracket.

use super::lexer::{Kind, Token};

/// The tokens outside of `dropped`, and what must stand between them.
pub(super) fn squeezed(text: &str, tokens: &[Token<'_>], dropped: &[(usize, usize)]) -> String {
    let is_kept = |token: &&Token<'_>| !dropped.iter().any(|(start, end)| *start <= token.start && token.end <= *end);
    let mut script = String::new();
    let mut before: Option<&Token<'_>> = None;
    for token in tokens.iter().filter(is_kept) {
        if let Some(before) = before {
            script.push_str(between(before, token, &text[before.end..token.start]));
        }
        script.push_str(&text[token.start..token.end]);
        before = Some(token);
    }
    script.push('\n');
    script
}

fn between(before: &Token<'_>, after: &Token<'_>, gap: &str) -> &'static str {
    if gap.contains('\n') {
        return if is_sign(before, "{([,;") || is_sign(after, "})]") { "" } else { "\n" };
    }
    if gap.is_empty() || joins(before, after) { "" } else { " " }
}

/// Whether two tokens are the same two without a space between them.
fn joins(before: &Token<'_>, after: &Token<'_>) -> bool {
    // They would be another sign, the begin of a comment, or the point of a number.
    let makes_another = is_sign(before, "+") && is_sign(after, "+")
        || is_sign(before, "-") && is_sign(after, "-")
        || is_sign(before, "/") && after.text.starts_with('/')
        || is_sign(before, "<") && is_sign(after, "!")
        || before.kind == Kind::Literal && is_sign(after, ".");
    !makes_another && [before, after].iter().any(|token| matches!(token.kind, Kind::Sign(_) | Kind::Text))
}

fn is_sign(token: &Token<'_>, signs: &str) -> bool {
    matches!(token.kind, Kind::Sign(sign) if signs.contains(sign))
}
