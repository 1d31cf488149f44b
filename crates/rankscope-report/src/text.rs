//! Strings from traces, made safe and short for a terminal.
//!
//! Names come out of files other people wrote: they may carry escape sequences, line breaks or kilobytes of template
//! arguments. Width is counted in characters, which is exact for the names compilers and frameworks make.

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

/// At most `width` characters; the middle goes first, since ends tell template instances apart.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    let length = width_of(text);
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head = kept.div_ceil(2);
    let tail = kept - head;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(length - tail)).collect()
}

/// Lines of at most `width` characters, broken at spaces; a longer word is cut.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        loop {
            let line = lines.last_mut().expect("starts with one line and only grows");
            let used = width_of(line) + usize::from(!line.is_empty());
            if used + word.len() <= width {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.extend(word);
                break;
            }
            if line.is_empty() {
                let rest = word.split_off(width.max(1).min(word.len()));
                line.extend(std::mem::replace(&mut word, rest));
            }
            lines.push(String::new());
        }
    }
    lines
}

/// Ascending ranks as ranges: `0-3, 6`; after `most` ranges the rest is counted.
pub(crate) fn rank_list(ranks: &[u32], most: usize) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
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
    text.chars().count()
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
    fn ranks_become_ranges() {
        assert_eq!(rank_list(&[0, 1, 2, 3, 6], 4), "0-3, 6");
        assert_eq!(rank_list(&[0, 2, 4, 5, 6], 2), "0, 2, 3 more");
        assert_eq!(rank_list(&[], 2), "");
    }
}
