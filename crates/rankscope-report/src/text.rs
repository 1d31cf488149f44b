//! Strings from traces, made safe and short for a terminal.
//!
//! Names come out of files other people wrote: they may carry escape sequences, line breaks or kilobytes of template
//! arguments. Width is counted in columns: letters of Chinese and Japanese, and emoji, take two, and accents that are characters of their
//! own none.

use rankscope_document::spelling::runs;
use unicode_width::UnicodeWidthChar;

/// The text without anything that moves the cursor or reorders what follows.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

/// Whether a terminal or a browser does something else with `c` than to show it: controls, marks and overrides of the direction of
/// writing, and what has no width. All are below U+10000.
pub fn steers(c: char) -> bool {
    let hidden = ['\u{61c}', '\u{feff}'];
    let ranges = ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{206f}', '\u{fff9}'..='\u{fffb}'];
    c.is_control() || hidden.contains(&c) || ranges.iter().any(|range| range.contains(&c))
}

/// At most `width` columns; the middle goes first, since ends tell template instances apart.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    if width_of(text) <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head = &text[..fitting(text.char_indices(), kept.div_ceil(2)).map_or(0, |(at, c)| at + c.len_utf8())];
    let rest = kept - width_of(head);
    let tail = &text[fitting(text.char_indices().rev(), rest).map_or(text.len(), |(at, _)| at)..];
    format!("{head}…{tail}")
}

/// The last of the first `letters` that take `width` columns together; none where not even one fits.
fn fitting(letters: impl Iterator<Item = (usize, char)>, width: usize) -> Option<(usize, char)> {
    let mut used = 0;
    let fits = |(_, c): &(usize, char)| {
        used += columns_of(*c);
        used <= width
    };
    letters.take_while(fits).last()
}

/// Lines of at most `width` columns, broken at spaces; a longer word is cut.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut word = word;
        loop {
            let line = lines.last_mut().expect("starts with one line and only grows");
            let used = width_of(line) + usize::from(!line.is_empty());
            if used + width_of(word) <= width {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
                break;
            }
            if line.is_empty() {
                // A letter that is wider than the line stands in one all the same.
                let first = word.chars().next().map_or(0, char::len_utf8);
                let end = fitting(word.char_indices(), width).map_or(first, |(at, c)| at + c.len_utf8());
                let (piece, rest) = word.split_at(end);
                line.push_str(piece);
                word = rest;
            }
            if word.is_empty() {
                break;
            }
            lines.push(String::new());
        }
    }
    lines
}

/// Ascending ranks as ranges: `0-3, 6`; after `most` ranges the rest is counted.
pub(crate) fn rank_list(ranks: &[u32], most: usize) -> String {
    let ranges = runs(ranks.iter().copied());
    let mut parts: Vec<String> =
        ranges.iter().take(most).map(|&(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") }).collect();
    let rest: usize = ranges.iter().skip(most).map(|&(a, b)| (b - a) as usize + 1).sum();
    if rest > 0 {
        parts.push(format!("{rest} more"));
    }
    parts.join(", ")
}

/// Columns the text takes.
pub(crate) fn width_of(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Columns a letter takes.
fn columns_of(c: char) -> usize {
    c.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_survive() {
        assert_eq!(clean("a\u{1b}[31mb\nc\u{202e}d"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d");
    }

    #[test]
    fn shortening_keeps_both_ends() {
        assert_eq!(shorten("all_reduce", 10), "all_reduce");
        assert_eq!(shorten("all_reduce_coalesced", 9), "all_…sced");
        assert_eq!(width_of(&shorten("ncclDevKernel_AllReduce", 2)), 2);
    }

    #[test]
    fn wrapping_breaks_at_spaces_and_cuts_what_cannot_fit() {
        assert_eq!(wrap("rank 5 is late", 7), ["rank 5", "is late"]);
        assert_eq!(wrap("a abcdefgh b", 4), ["a", "abcd", "efgh", "b"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn letters_of_two_columns_count_as_two() {
        assert_eq!(width_of("前向传播"), 8);
        assert_eq!(shorten("前向传播_forward", 9), "前向…ward");
        assert_eq!(shorten("前向传播", 4), "前…");
        assert_eq!(wrap("前向传播 x", 5), ["前向", "传播", "x"]);
        assert_eq!(wrap("前", 1), ["前"]);
    }

    #[test]
    fn ranks_become_ranges() {
        assert_eq!(rank_list(&[0, 1, 2, 3, 6], 4), "0-3, 6");
        assert_eq!(rank_list(&[0, 2, 4, 5, 6], 2), "0, 2, 3 more");
        assert_eq!(rank_list(&[], 2), "");
    }
}
