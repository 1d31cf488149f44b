//! One spelling of what libraries write in several ways, in tables and sentences. `report.json` keeps what was recorded.

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

#[cfg(test)]
mod tests {
    use super::*;

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
