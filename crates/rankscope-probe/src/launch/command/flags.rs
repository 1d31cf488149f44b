//! The flags of a launcher up to the program that it starts.
//!
//! Only the launcher knows which of its flags take a value, so each brings a table; a flag that is in none takes none.

/// Flags as they were written, with their values.
pub(super) struct Flags<'a> {
    found: Vec<(&'a str, Option<&'a str>)>,
    /// Where the program is among the words.
    pub(super) program: usize,
}

impl<'a> Flags<'a> {
    /// The flags in `words` from `from` on; `values` says how many words follow a flag.
    pub(super) fn of(words: &'a [String], from: usize, values: impl Fn(&str) -> usize) -> Self {
        let mut found = Vec::new();
        let mut at = from.min(words.len());
        while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && word.len() > 1) {
            at += 1;
            if word == "--" {
                break;
            }
            if let Some((flag, value)) = word.split_once('=') {
                found.push((flag, Some(value)));
                continue;
            }
            let count = values(word);
            found.push((word.as_str(), (count > 0).then(|| words.get(at)).flatten().map(String::as_str)));
            at += count;
        }
        Self { found, program: at.min(words.len()) }
    }

    /// The value of the last flag that has one of `names`; dashes and underscores are the same.
    pub(super) fn value(&self, names: &[&str]) -> Option<&'a str> {
        self.found.iter().rev().find(|(flag, value)| value.is_some() && is_any(flag, names))?.1
    }

    /// Whether a flag is there.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.found.iter().any(|(flag, _)| is_any(flag, names))
    }

    /// The value of a short flag, written `-N2` or `-N 2`.
    pub(super) fn short(&self, name: &str) -> Option<&'a str> {
        let attached = |(flag, value): &(&'a str, Option<&'a str>)| {
            if *flag == name {
                *value
            } else {
                flag.strip_prefix(name).filter(|rest| !rest.is_empty() && !flag.starts_with("--"))
            }
        };
        self.found.iter().rev().find_map(attached)
    }
}

fn is_any(flag: &str, names: &[&str]) -> bool {
    let same = |a: u8, b: u8| a == b || (a == b'_' && b == b'-');
    names.iter().any(|name| flag.len() == name.len() && flag.bytes().zip(name.bytes()).all(|(a, b)| same(a, b)))
}
