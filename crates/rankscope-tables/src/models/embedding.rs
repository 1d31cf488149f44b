//! Rows of a table by their numbers: moved, not computed. The table's gradient is written whole, and each row that was used is added.

use super::count::{product as times, sum};
use super::params::{Collected, Params};
use super::{Inputs, Work};

pub(super) fn is_known(name: &str) -> bool {
    matches!(name, "embedding" | "embedding_dense_backward")
}

pub(super) fn work(name: &str, inputs: &Inputs) -> Option<Work> {
    if name == "embedding" { forward(inputs) } else { backward(inputs) }
}

/// The table and the numbers of its rows; backward, the gradient of what came out, the numbers, and how many rows the table has.
pub(super) fn params(name: &str, inputs: &Inputs) -> Option<Params> {
    let table = |params: Collected<'_>, rows: Option<u64>, width: u64| {
        let params = match rows {
            Some(rows) => params.with("num_rows", rows),
            None => params,
        };
        Some(params.with("row_width", width).shape("index_shape", 1).types("dtype_table_index", &[Some(0), Some(1)]).done())
    };
    let first = inputs.dims(0)?;
    let width = *first.last()?;
    table(Collected::of(inputs), if name == "embedding" { first.first().copied() } else { inputs.number(2) }, width)
}

/// Each number's row is read and written.
fn forward(inputs: &Inputs) -> Option<Work> {
    let (table, numbers) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let [_, width] = table.lengths()?;
    let rows = times([2, numbers.elements()?, width, table.dtype.bytes()]);
    Some(Work::of_elements(table.dtype, 0, sum([numbers.bytes(), rows])?))
}

fn backward(inputs: &Inputs) -> Option<Work> {
    let (gradient, numbers) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let table = times([inputs.number(2)?, *gradient.dims.last()?, gradient.dtype.bytes()]);
    let bytes = sum([gradient.bytes(), numbers.bytes(), table])?;
    Some(Work::of_elements(gradient.dtype, gradient.elements()?, bytes))
}

#[cfg(test)]
mod tests {
    use crate::models::counted::counted as of;

    #[test]
    fn tables_are_counted_as_by_hand() {
        // Six numbers of 8 bytes; six rows of 4 halves are read and written.
        let types = ["c10::Half", "long int"];
        assert_eq!(of("aten::embedding", "[[100, 4], [2, 3]]", &types, &["", ""]), Some((0, 48 + 2 * 48)));
        // Their gradient is read, and 100 rows of 4 are written.
        let types = ["c10::Half", "long int", "Scalar"];
        let back = of("aten::embedding_dense_backward", "[[2, 3, 4], [2, 3], []]", &types, &["", "", "100"]);
        assert_eq!(back, Some((24, 48 + 48 + 800)));
    }
}
