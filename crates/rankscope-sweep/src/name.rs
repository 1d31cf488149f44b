//! Names of directories for configurations: what a label says, in characters that no shell, path or list of paths takes for
//! something else. Two configurations never share a name, not even where a file system ignores case.

use std::collections::BTreeSet;

/// What lies in the directory of a sweep beside those of its configurations.
pub(crate) const WARM_UP: &str = "warm-up";
/// Where runs go that are run again.
pub(crate) const SET_ASIDE: &str = "set-aside";

/// Longer names leave too little of what a path may have to the files of a run.
const LENGTH_MAX: usize = 80;

/// A name for each of `labels`, in their order; the same labels have the same names.
pub(crate) fn directories<'a>(labels: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut taken: BTreeSet<String> = [WARM_UP, SET_ASIDE, "sweep.json"].map(str::to_owned).into();
    let name = |label: &str| {
        let plain = plain(label);
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let mut names = std::iter::once(plain.clone()).chain(numbered);
        names.find(|name| taken.insert(name.to_ascii_lowercase())).unwrap_or(plain)
    };
    labels.into_iter().map(name).collect()
}

/// A label of assignments, `A=4,B=x`, becomes `A-4+B-x`.
fn plain(label: &str) -> String {
    let plain = |c: char| match c {
        ',' => '+',
        c if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+') => c,
        _ => '-',
    };
    let name: String = label.chars().take(LENGTH_MAX).map(plain).collect();
    // Hidden, or an option to whatever it is given to.
    let name = name.trim_start_matches(['.', '-']).trim_end_matches(['.', '-']);
    if name.is_empty() { "configuration".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_say_what_labels_say() {
        let labels =
            ["NCCL_MAX_NCHANNELS=4,NCCL_ALGO=Ring", "a/b c=d", "A/B C-D", "..", "", "-n", "warm-up", "56cu_256threads"];
        let names = [
            "NCCL_MAX_NCHANNELS-4+NCCL_ALGO-Ring",
            "a-b-c-d",
            "A-B-C-D-2",
            "configuration",
            "configuration-2",
            "n",
            "warm-up-2",
            "56cu_256threads",
        ];
        assert_eq!(directories(labels), names);
    }

    proptest! {
        #[test]
        fn names_are_safe_and_never_shared(labels in prop::collection::vec(".{0,120}", 0..12)) {
            let names = directories(labels.iter().map(String::as_str));
            let folded: BTreeSet<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
            prop_assert_eq!(folded.len(), labels.len());
            for name in &names {
                prop_assert!(name.len() <= LENGTH_MAX + 4 && !name.starts_with(['.', '-']), "{}", name);
                prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c)), "{}", name);
            }
        }
    }
}
