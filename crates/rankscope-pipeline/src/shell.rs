//! Words as a shell takes them, for commands that a message tells one to run.

use std::path::Path;

/// `word` as a shell takes it for one.
pub fn quoted(word: &str) -> String {
    let is_plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./+:,=@%".contains(c));
    if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// `path` as one.
pub(crate) fn path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [("a/b-c=4", "a/b-c=4"), ("a b", "'a b'"), ("", "''"), ("it's", "'it'\\''s'"), ("$x", "'$x'")] {
            assert_eq!(quoted(word), expected);
        }
    }
}
