//! Whose dump a file is, by its name: the last number of it, before suffixes. Dumps themselves do not say.

/// The rank that `file` is of: 3 of `nccl_trace_rank_3`, `_dump_fr_trace_3.pkl` and `trace_3.json.gz`. A number within a suffix is none.
pub fn rank_of_file(file: &str) -> Option<u32> {
    let mut stem = file;
    for suffix in [".gz", ".zst", ".json", ".pkl", ".pickle", ".bin", ".txt", ".dump"] {
        stem = stem.strip_suffix(suffix).unwrap_or(stem);
    }
    let digits = stem.len() - stem.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    stem[stem.len() - digits..].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::rank_of_file;

    #[test]
    fn the_last_number_of_a_name_is_the_rank() {
        for (file, rank) in [
            ("nccl_trace_rank_3", Some(3)),
            ("_dump_fr_trace_12.pkl", Some(12)),
            ("job7_comm_lib_trace_rank_0", Some(0)),
            ("trace_3.json.gz", Some(3)),
            ("verdict.json", None),
            ("4", Some(4)),
            ("99999999999999999999", None),
            ("", None),
        ] {
            assert_eq!(rank_of_file(file), rank, "{file}");
        }
    }
}
