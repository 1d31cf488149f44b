//! `overlap_ns(start, end, start, end)`: how long two intervals overlap. Cuts work to a step, or to another rank's stay.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

/// The function.
pub(crate) fn overlap_ns() -> ScalarUDF {
    ScalarUDF::new_from_impl(OverlapNs { signature: Signature::exact(vec![DataType::Int64; 4], Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OverlapNs {
    signature: Signature,
}

impl ScalarUDFImpl for OverlapNs {
    fn name(&self) -> &'static str {
        "overlap_ns"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns: Vec<ArrayRef> = ColumnarValue::values_to_arrays(&args.args)?;
        let [one_start, one_end, other_start, other_end] =
            [0, 1, 2, 3].map(|column: usize| columns[column].as_primitive::<Int64Type>());
        let overlaps = one_start.iter().zip(one_end).zip(other_start.iter().zip(other_end)).map(|(one, other)| {
            let ((one_start, one_end), (other_start, other_end)) = (one, other);
            Some(overlap(one_start?, one_end?, other_start?, other_end?))
        });
        Ok(ColumnarValue::Array(Arc::new(overlaps.collect::<Int64Array>())))
    }
}

/// 0 where they do not meet.
fn overlap(one_start: i64, one_end: i64, other_start: i64, other_end: i64) -> i64 {
    one_end.min(other_end).saturating_sub(one_start.max(other_start)).max(0)
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn what_does_not_meet_overlaps_by_nothing() {
        assert_eq!(overlap(0, 10, 4, 6), 2);
        assert_eq!(overlap(0, 10, 5, 20), 5);
        assert_eq!(overlap(0, 10, 10, 20), 0);
        assert_eq!(overlap(0, 10, 30, 20), 0);
        assert_eq!(overlap(i64::MIN, i64::MAX, i64::MIN, i64::MAX), i64::MAX);
    }
}
