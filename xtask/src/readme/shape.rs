//! When what is printed is what is shown.
//!
//! Letter by letter, unless the page says that something varies. What varies gives way to its kind and the space around it to
//! one blank, so words, their order and the columns of tables still count:
//!
//! - `times vary`: numbers with a unit of time, and rates, such as `13.9 us` and `123 MB/s`;
//! - `numbers vary`: every number, with its unit of time or size where it has one, and how many lines of one shape follow each other;
//! - `abridged`: the page leaves out what `...` stands for, and breaks lines where it likes.

use regex_lite::Regex;
use similar::TextDiff;

/// What may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Vary {
    #[default]
    Nothing,
    Times,
    Numbers,
}

/// How one block is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rule {
    pub(super) vary: Vary,
    pub(super) abridged: bool,
}

impl Rule {
    /// Nothing where both are the same, else the lines in which they differ.
    pub(super) fn difference(self, shown: &str, printed: &str) -> Option<String> {
        let [shown, printed] = [shown, printed].map(|text| self.masked(text));
        let same = if self.abridged { is_abridged(&shown, &printed) } else { shown == printed };
        (!same).then(|| TextDiff::from_lines(&shown, &printed).unified_diff().context_radius(2).to_string())
    }

    /// The text with a kind in place of what varies.
    fn masked(self, text: &str) -> String {
        let mut lines: Vec<String> = text.trim_end().lines().map(|line| self.masked_line(line.trim_end())).collect();
        if self.vary == Vary::Numbers {
            lines.dedup();
        }
        lines.into_iter().map(|line| line + "\n").collect()
    }

    fn masked_line(self, line: &str) -> String {
        let masks: &[(&str, &str)] = match self.vary {
            Vary::Nothing => return line.to_owned(),
            Vary::Times => &[(RATE, "RATE"), (TIME, "TIME")],
            Vary::Numbers => &[(NUMBER, "N")],
        };
        let masked = masks.iter().fold(line.to_owned(), |line, (pattern, kind)| {
            let pattern = Regex::new(pattern).expect("the patterns are written below, and tested");
            pattern.replace_all(&line, *kind).into_owned()
        });
        masked.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

const RATE: &str = r"[0-9][0-9,]*(\.[0-9]+)?\s?([kKMGT]i?)?(B|bit)/s\b";
const TIME: &str = r"[0-9][0-9,]*(\.[0-9]+)?\s?(ns|us|ms|s|min|h)\b";
const NUMBER: &str = r"[+-]?[0-9][0-9,]*(\.[0-9]+)?(\s?(ns|us|ms|s|min|h|([kKMGT]i?)?B(/s)?)\b)?";

/// Whether `shown` is `printed` with pieces left out where it has dots, whatever the space between.
fn is_abridged(shown: &str, printed: &str) -> bool {
    let [shown, printed] = [shown, printed].map(|text| text.split_whitespace().collect::<String>());
    let pieces: Vec<&str> = shown.split("...").collect();
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return false };
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    if pieces.len() == 1 {
        return rest.is_empty();
    }
    for piece in &pieces[1..pieces.len() - 1] {
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXACT: Rule = Rule { vary: Vary::Nothing, abridged: false };
    const TIMES: Rule = Rule { vary: Vary::Times, abridged: false };
    const NUMBERS: Rule = Rule { vary: Vary::Numbers, abridged: false };
    const ABRIDGED: Rule = Rule { vary: Vary::Nothing, abridged: true };

    #[test]
    fn what_does_not_vary_counts_to_the_letter_but_for_the_ends_of_lines() {
        assert_eq!(EXACT.difference("a  1.5 ms\nb", "a  1.5 ms  \nb\n\n"), None);
        let difference = EXACT.difference("a\nb 1", "a\nb 2").unwrap();
        assert!(difference.contains("-b 1") && difference.contains("+b 2"), "{difference}");
        assert!(EXACT.difference("a  b", "a b").is_some());
    }

    #[test]
    fn times_and_rates_may_differ_and_nothing_else() {
        let shown = "forward  1.88 KiB  448 B   13.9 us  123 MB/s";
        assert_eq!(TIMES.difference(shown, "forward  1.88 KiB  448 B  1,007 ms  9 GB/s"), None);
        assert!(TIMES.difference(shown, "forward  1.88 KiB  449 B  13.9 us  123 MB/s").is_some());
        assert!(TIMES.difference(shown, "backward  1.88 KiB  448 B  13.9 us  123 MB/s").is_some());
        assert!(TIMES.difference("4 steps", "5 steps").is_some(), "the s of steps is no second");
    }

    #[test]
    fn numbers_may_differ_and_words_and_columns_may_not() {
        let shown = "rank  offset\n0     -2\n1     +6,215,625\n\naligned  1 ns  17.0 ms\n100 % of them";
        assert_eq!(NUMBERS.difference(shown, "rank  offset\n0  +14\n\naligned  0.3 us  8 ns\n99.9 % of them"), None);
        assert!(NUMBERS.difference(shown, "rank  offset\n0  +14\n\naligned  1 ns\n100 % of them").is_some());
        assert!(NUMBERS.difference(shown, "rank  offset\n0  none\n\naligned  1 ns  1 ns\n100 % of them").is_some());
    }

    #[test]
    fn dots_stand_for_what_is_left_out() {
        let printed = "{\"a\":1,\"b\":[1,2],\"c\":3}";
        assert_eq!(ABRIDGED.difference("{\"a\":1, ...\n \"c\":3}", printed), None);
        assert_eq!(ABRIDGED.difference("{\"a\":1, ...", printed), None);
        for wrong in ["{\"a\":2, ...", "{\"a\":1, ... \"c\":4}", "{\"a\":1", "... \"d\" ..."] {
            assert!(ABRIDGED.difference(wrong, printed).is_some(), "{wrong}");
        }
    }
}
