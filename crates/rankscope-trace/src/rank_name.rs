//! The rank that the name of a file or folder tells.

use rankscope_time::Rank;

/// Words that announce a rank in the name of a file or folder.
const WORDS: [&str; 6] = ["rank", "process", "proc", "worker", "host", "node"];

/// The rank a path names, `rank-0`, `rank_12_trace.json`, `rank3/trace.json`; the file's own name counts before its folders'.
pub fn rank_of_name(path: &str) -> Option<Rank> {
    let parts = path.rsplit(['/', '\\', ':']);
    parts.take(3).find_map(|part| WORDS.iter().find_map(|word| number_after(part, word)))
}

fn number_after(part: &str, word: &str) -> Option<Rank> {
    let lower = part.to_ascii_lowercase();
    let mut from = 0;
    while let Some(at) = lower[from..].find(word) {
        from += at + word.len();
        let rest = lower[from..].trim_start_matches(['-', '_', '.', '=', ' ', '[']);
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if let Ok(rank) = rest[..digits].parse() {
            return Some(Rank(rank));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_ranks() {
        for (name, rank) in [
            ("runs/rank3.json.gz", Some(3)),
            ("sampled_rank-0_of_128.json.gz", Some(0)),
            ("torch_profiler/rank12/trace.json", Some(12)),
            ("rank_007_trace.json", Some(7)),
            ("all.zip:rank2.json", Some(2)),
            ("process1.xplane.pb", Some(1)),
            ("cpu_only_rank34_of_300.json", Some(34)),
            ("ranking.json", None),
            ("rank_not_found.json", None),
            ("a100.json", None),
        ] {
            assert_eq!(rank_of_name(name), rank.map(Rank), "{name}");
        }
    }
}
