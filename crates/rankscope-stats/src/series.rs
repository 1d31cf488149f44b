//! Runs as they are compared: without their first steps, and without values that are no numbers.

/// Steps at the start of a run of `n` that are left out: five, or a quarter of a short run.
pub fn warm_up(n: usize) -> usize {
    5.min(n / 4)
}
