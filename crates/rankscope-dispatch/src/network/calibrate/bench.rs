//! Which benchmark wrote a file.

use super::{Operation, Samples, nccl, osu};
use crate::Error;

/// Reads what a benchmark printed. nccl-tests (and rccl-tests) and the OSU micro-benchmarks are known by their headers; what a
/// header does not tell (the operation in old nccl-tests, the ranks in OSU) may be given.
///
/// # Errors
/// [`Error::BadBenchmark`] with the line; [`Error::UnknownBenchmark`] says what is missing.
pub fn read(text: &str, operation: Option<Operation>, ranks: Option<u32>) -> Result<Samples, Error> {
    let samples = match text.lines().find_map(osu::title) {
        Some(title) => osu::read(text, &title, ranks)?,
        None => nccl::read(text, operation, ranks)?,
    };
    match samples.rows.is_empty() {
        true => Err(Error::UnknownBenchmark {
            what: "it has no row of sizes and times. Give the complete output of nccl-tests or an OSU benchmark, including the header",
        }),
        false => Ok(samples),
    }
}
