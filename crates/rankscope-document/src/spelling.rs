//! One spelling of what libraries write in several ways, in tables and sentences, and of lists of ranks. `report.json` keeps what was
//! recorded.

/// A collective by its name as recorded: where that says no more than the operation, as `allreduce` does of `all_reduce`, by the
/// name of the operation.
pub fn collective<'a>(name: &'a str, kind: &'a str) -> &'a str {
    let letters =
        |text: &str| -> String { text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect() };
    if letters(name) == letters(kind) { kind } else { name }
}

/// A type of elements: `Float` and `float` are one.
pub fn dtype(recorded: &str) -> String {
    recorded.strip_prefix("c10::").unwrap_or(recorded).to_lowercase()
}

/// Ascending ranks as runs of ranks that follow each other, each by its first and its last.
pub fn runs(ranks: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => runs.push((rank, rank)),
        }
    }
    runs
}

/// Ascending ranks in short, runs of them as `0-3`, with `between` two of them.
pub fn ranks_in_short(ranks: impl IntoIterator<Item = u32>, between: &str) -> String {
    let run = |(first, last): (u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    runs(ranks).into_iter().map(run).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_follow_each_other_are_a_run() {
        assert_eq!(runs([0, 1, 2, 8, 10, 11]), [(0, 2), (8, 8), (10, 11)]);
        assert_eq!(runs([u32::MAX]), [(u32::MAX, u32::MAX)]);
        assert_eq!(ranks_in_short([0, 1, 2, 8, 10, 11], ", "), "0-2, 8, 10-11");
        assert_eq!(ranks_in_short([], ","), "");
    }

    #[test]
    fn names_that_say_no_more_than_the_operation_are_spelled_like_it() {
        for name in ["allreduce", "all_reduce", "AllReduce"] {
            assert_eq!(collective(name, "all_reduce"), "all_reduce");
        }
        for name in ["allreduce_coalesced", "ncclDevKernel_AllReduce", "gradients", ""] {
            assert_eq!(collective(name, "all_reduce"), name);
        }
        assert_eq!(["Float", "float", "c10::BFloat16", ""].map(dtype), ["float", "float", "bfloat16", ""]);
    }
}
