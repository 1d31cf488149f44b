//! `union_ns(start, end)`: how long the union of intervals is, in the unit of their ends.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};
use datafusion::scalar::ScalarValue;

use crate::intervals::Intervals;

/// The function.
pub(crate) fn union_ns() -> AggregateUDF {
    AggregateUDF::new_from_impl(UnionNs { signature: Signature::exact(vec![DataType::Int64; 2], Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct UnionNs {
    signature: Signature,
}

impl AggregateUDFImpl for UnionNs {
    fn name(&self) -> &'static str {
        "union_ns"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Union::default()))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let bounds = |name: &str| {
            let list = DataType::new_list(DataType::Int64, true);
            Arc::new(Field::new(format!("{}[{name}]", args.name), list, true))
        };
        Ok(vec![bounds("starts"), bounds("ends")])
    }
}

/// The union of one group's rows; null while there are none.
#[derive(Debug, Default)]
struct Union {
    intervals: Intervals,
    rows: bool,
}

impl Union {
    fn add(&mut self, starts: &dyn Array, ends: &dyn Array) {
        let (starts, ends) = (starts.as_primitive::<Int64Type>(), ends.as_primitive::<Int64Type>());
        for (start, end) in starts.iter().zip(ends) {
            if let (Some(start), Some(end)) = (start, end) {
                self.rows = true;
                self.intervals.add(start, end);
            }
        }
    }
}

impl Accumulator for Union {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0], &values[1]);
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Int64(self.rows.then(|| self.intervals.length_ns())))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.intervals.bytes()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        if !self.rows {
            let none = || ScalarValue::new_null_list(DataType::Int64, true, 1);
            return Ok(vec![none(), none()]);
        }
        let list = |bounds: Vec<i64>| {
            let bounds: ListArray = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(bounds.into_iter().map(Some))]);
            ScalarValue::List(Arc::new(bounds))
        };
        let (starts, ends) = self.intervals.disjoint().iter().copied().unzip();
        Ok(vec![list(starts), list(ends)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (starts, ends) = (states[0].as_list::<i32>(), states[1].as_list::<i32>());
        for (starts, ends) in starts.iter().zip(ends.iter()) {
            if let (Some(starts), Some(ends)) = (starts, ends) {
                self.rows = true;
                self.add(&starts, &ends);
            }
        }
        Ok(())
    }
}
