//! A table as Arrow's columns, handed over by Arrow's own interface between languages: readers take the memory, not a copy.
//!
//! Integers are 64 bits wide, nanoseconds among them: none goes through a float. Lists of integers or of text are Arrow's lists; whatever
//! else is inside a cell is its JSON text.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, NullArray, RecordBatch, RecordBatchIterator, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use rankscope_document::{Rows, Value};

/// A table of a document.
#[pyclass(frozen, module = "rankscope._native")]
pub(crate) struct Table {
    name: String,
    batch: RecordBatch,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Unknown,
    Bool,
    Integer,
    /// Integers of which one is beyond `i64`.
    Unsigned,
    Float,
    Text,
    Integers,
    Texts,
    Json,
}

impl Kind {
    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::Unknown,
            Value::Bool(_) => Self::Bool,
            Value::Integer(_) => Self::Integer,
            Value::Unsigned(number) if i64::try_from(*number).is_ok() => Self::Integer,
            Value::Unsigned(_) => Self::Unsigned,
            Value::Float(_) => Self::Float,
            Value::Text(_) => Self::Text,
            Value::Object(_) => Self::Json,
            Value::List(items) => match items.iter().map(Self::of).reduce(Self::and).unwrap_or(Self::Unknown) {
                Self::Unknown if items.is_empty() => Self::Integers,
                Self::Integer => Self::Integers,
                Self::Text => Self::Texts,
                _ => Self::Json,
            },
        }
    }

    /// What holds both.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, same) if one == same => one,
            (Self::Unknown, known) | (known, Self::Unknown) => known,
            (Self::Integer | Self::Float, Self::Integer | Self::Float) => Self::Float,
            (Self::Integer | Self::Unsigned, Self::Integer | Self::Unsigned) => Self::Unsigned,
            // An empty list is of any type.
            (Self::Integers, Self::Texts) | (Self::Texts, Self::Integers) => Self::Texts,
            _ => Self::Json,
        }
    }
}

impl Table {
    /// `rows` as columns, behind one of their ranks where they are of single ranks.
    pub(crate) fn of(rows: &Rows) -> Result<Self, ArrowError> {
        let mut fields = Vec::new();
        let mut columns: Vec<ArrayRef> = Vec::new();
        let mut add = |name: &str, column: ArrayRef| {
            fields.push(Field::new(name, column.data_type().clone(), true));
            columns.push(column);
        };
        if rows.rows.iter().any(|row| row.rank.is_some()) && rows.column("rank").is_none() {
            add("rank", Arc::new(rows.rows.iter().map(|row| row.rank.map(i64::from)).collect::<arrow_array::Int64Array>()));
        }
        for (at, name) in rows.columns.iter().enumerate() {
            add(name, column(name, rows.rows.iter().map(|row| &row.values[at])));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.rows.len()));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        Ok(Self { name: rows.name.clone(), batch })
    }
}

fn column<'v>(name: &str, values: impl Iterator<Item = &'v Value> + Clone) -> ArrayRef {
    let integer = |value: &Value| match *value {
        Value::Integer(number) => Some(number),
        Value::Unsigned(number) => i64::try_from(number).ok(),
        _ => None,
    };
    let kind = values.clone().map(Kind::of).reduce(Kind::and).unwrap_or(Kind::Unknown);
    match kind {
        // Whoever puts runs under each other wants the same columns of each.
        Kind::Unknown if !name.ends_with("_ns") => Arc::new(NullArray::new(values.count())),
        Kind::Unknown | Kind::Integer => {
            let mut built = Int64Builder::new();
            values.for_each(|value| built.append_option(integer(value)));
            Arc::new(built.finish())
        }
        Kind::Unsigned => {
            let mut built = UInt64Builder::new();
            values.for_each(|value| {
                built.append_option(if let Value::Unsigned(number) = value {
                    Some(*number)
                } else {
                    integer(value).and_then(|number| u64::try_from(number).ok())
                });
            });
            Arc::new(built.finish())
        }
        Kind::Bool => {
            let mut built = BooleanBuilder::new();
            values.for_each(|value| built.append_option(if let Value::Bool(is) = value { Some(*is) } else { None }));
            Arc::new(built.finish())
        }
        Kind::Float => {
            let mut built = Float64Builder::new();
            values.for_each(|value| built.append_option(value.number().filter(|number| number.is_finite())));
            Arc::new(built.finish())
        }
        Kind::Text => {
            let mut built = StringBuilder::new();
            values.for_each(|value| built.append_option(value.text()));
            Arc::new(built.finish())
        }
        Kind::Integers => {
            let mut built = ListBuilder::new(Int64Builder::new());
            values.for_each(|value| built.append_option(items(value).map(|items| items.iter().map(integer))));
            Arc::new(built.finish())
        }
        Kind::Texts => {
            let mut built = ListBuilder::new(StringBuilder::new());
            values.for_each(|value| built.append_option(items(value).map(|items| items.iter().map(Value::text))));
            Arc::new(built.finish())
        }
        Kind::Json => {
            let mut built = StringBuilder::new();
            values.for_each(|value| {
                let text =
                    Some(value).filter(|value| **value != Value::Null).and_then(|value| serde_json::to_string(value).ok());
                built.append_option(text);
            });
            Arc::new(built.finish())
        }
    }
}

fn items(value: &Value) -> Option<&[Value]> {
    if let Value::List(items) = value { Some(items) } else { None }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// The types of the columns, as Arrow calls them.
    #[getter]
    fn column_types(&self) -> Vec<String> {
        self.batch.schema_ref().fields().iter().map(|field| field.data_type().to_string()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref()).map_err(refused)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The protocol lets a producer ignore the schema that is wished for, which only one that converts could heed.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _heeded_by_those_who_convert = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// The columns as lists.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.columns(py, self.batch.num_rows())
    }

    /// The columns of the first rows as lists.
    fn head<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyDict>> {
        self.columns(py, rows.min(self.batch.num_rows()))
    }
}

impl Table {
    fn columns<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (field, column) in self.batch.schema_ref().fields().iter().zip(self.batch.columns()) {
            let cells: Vec<_> = (0..rows).map(|row| cell(py, column, row)).collect::<PyResult<_>>()?;
            dict.set_item(field.name(), PyList::new(py, cells)?)?;
        }
        Ok(dict)
    }
}

fn cell<'py>(py: Python<'py>, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match column.data_type() {
        DataType::Boolean => column.as_boolean().value(row).into_bound_py_any(py),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into_bound_py_any(py),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).into_bound_py_any(py),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into_bound_py_any(py),
        DataType::Utf8 => column.as_string::<i32>().value(row).into_bound_py_any(py),
        DataType::List(_) => {
            let inner = column.as_list::<i32>().value(row);
            let cells: Vec<_> = (0..inner.len()).map(|at| cell(py, &inner, at)).collect::<PyResult<_>>()?;
            PyList::new(py, cells)?.into_bound_py_any(py)
        }
        _ => Ok(py.None().into_bound(py)),
    }
}

fn refused(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
