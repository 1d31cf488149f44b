//! What models say of one operator, for their tests.

use crate::{Inputs, Model};

/// FLOPs and bytes of `operator` with inputs of these shapes and types, and these concrete values where they are recorded.
pub(super) fn recorded(operator: &str, dims: &str, types: &[&str], concrete: Option<&str>) -> Option<(u64, u64)> {
    let inputs = Inputs::parse(dims, &format!("{types:?}"), None, concrete)?;
    Model::of(operator)?.work(operator, &inputs).and_then(|work| Some((work.flops?, work.bytes)))
}

/// The same with all concrete values recorded.
pub(super) fn counted(operator: &str, dims: &str, types: &[&str], concrete: &[&str]) -> Option<(u64, u64)> {
    recorded(operator, dims, types, Some(&format!("{concrete:?}")))
}
