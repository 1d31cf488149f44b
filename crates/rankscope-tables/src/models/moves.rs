//! Elements moved by their numbers: `gather`, `scatter_`, `index_select`, `index_add_` and their like.
//!
//! As many elements are read and written as there are numbers, each once, whatever the numbers say. Adding takes one operation for each.
//! Indexing with a list of tensors (`index`, `index_put_`) is not recorded: no figure.

use super::count::{product as times, sum};
use super::params::{Collected, Params};
use super::{Inputs, Work};

pub(super) fn is_known(name: &str) -> bool {
    matches!(
        name,
        "gather"
            | "scatter"
            | "scatter_"
            | "scatter_add"
            | "scatter_add_"
            | "index_select"
            | "index_add"
            | "index_add_"
            | "index_copy"
            | "index_copy_"
    )
}

pub(super) fn work(name: &str, inputs: &Inputs) -> Option<Work> {
    let (own, numbers) = (inputs.tensor(0)?, inputs.tensor(2)?);
    let function = name.trim_end_matches('_');
    let moved = match function {
        "index_select" => selected(inputs)?,
        "index_add" | "index_copy" => inputs.tensor(3)?.elements()?,
        _ => numbers.elements()?,
    };
    let adds = function.ends_with("_add");
    // A number that is given with the call is not read.
    let source = match function {
        "scatter" if inputs.is_scalar(3) => 0,
        "scatter" | "scatter_add" | "index_add" | "index_copy" if inputs.tensor(3)?.dtype != own.dtype => return None,
        _ => 1,
    };
    let writes = 1 + u64::from(adds);
    // What is not changed in place is copied first.
    let is_copy = !name.ends_with('_') && !matches!(function, "gather" | "index_select");
    let copied = if is_copy { times([2, own.bytes()?])? } else { 0 };
    let bytes = sum([numbers.bytes(), times([source + writes, moved, own.dtype.bytes()]), Some(copied)])?;
    Some(Work::of_elements(own.dtype, if adds { moved } else { 0 }, bytes))
}

/// As many rows as there are numbers.
fn selected(inputs: &Inputs) -> Option<u64> {
    let (own, numbers) = (inputs.tensor(0)?, inputs.tensor(2)?);
    let dim: i64 = inputs.concrete(1)?.parse().ok()?;
    let rank = i64::try_from(own.dims.len()).ok()?;
    let at = usize::try_from(if dim < 0 { dim.checked_add(rank)? } else { dim }).ok()?;
    own.dims.get(at)?;
    let others = own.dims.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, length)| *length);
    times(others.chain([numbers.elements()?]))
}

pub(super) fn params(inputs: &Inputs) -> Option<Params> {
    let all = Collected::of(inputs).shape("op_shape", 0).shape("index_shape", 2).whole("dim", 1);
    Some(all.types("dtype_in_index", &[Some(0), Some(2)]).strides("stride_input", 0).done())
}

#[cfg(test)]
mod tests {
    use crate::models::counted::counted;

    fn of(name: &str, dims: &str, types: &[&str], concrete: &[&str]) -> Option<(u64, u64)> {
        counted(&format!("aten::{name}"), dims, types, concrete)
    }

    #[test]
    fn moves_are_counted_as_by_hand() {
        let half = "c10::Half";
        let types = [half, "Scalar", "long int", "Scalar"];
        // 6 numbers of 8 bytes, 6 halves read and written.
        assert_eq!(of("gather", "[[9, 3], [], [2, 3], []]", &types, &["", "0", "", "False"]), Some((0, 48 + 24)));
        // 2 rows of 3.
        assert_eq!(of("index_select", "[[9, 3], [], [2]]", &types[..3], &["", "-2", ""]), Some((0, 16 + 24)));
        assert_eq!(of("index_select", "[[9, 3], [], [2]]", &types[..3], &["", "2", ""]), None);
        let types = ["float", "Scalar", "long int", "float"];
        let concrete = ["", "0", "", ""];
        assert_eq!(of("scatter_", "[[9], [], [4], [4]]", &types, &concrete), Some((0, 32 + 32)));
        // The target is read, too; and copied before where it is not changed in place.
        assert_eq!(of("scatter_add_", "[[9], [], [4], [4]]", &types, &concrete), Some((4, 32 + 48)));
        assert_eq!(of("scatter_add", "[[9], [], [4], [4]]", &types, &concrete), Some((4, 32 + 48 + 72)));
        assert_eq!(
            of("scatter_", "[[9], [], [4], []]", &["float", "Scalar", "long int", "Scalar"], &concrete),
            Some((0, 32 + 16))
        );
        // 2 rows of 3 are added.
        assert_eq!(of("index_add_", "[[9, 3], [], [2], [2, 3]]", &types, &concrete), Some((6, 16 + 72)));
        assert_eq!(of("index_copy_", "[[9, 3], [], [2], [2, 3]]", &types, &concrete), Some((0, 16 + 48)));
        assert_eq!(of("index_copy_", "[[9, 3], [], [2], [2, 3]]", &["float", "Scalar", "long int", "double"], &concrete), None);
    }
}
