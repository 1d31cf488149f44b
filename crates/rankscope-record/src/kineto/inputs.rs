//! [`Input`]: an argument of an op as far as a profiler keeps it: shape, strides, type, and small values.
//!
//! Inputs are encoded as Kineto writes them into a trace: nested JSON lists, one entry an input. Lists of scalars are cut after
//! thirty entries and say so with `...`; shapes are never cut.

use std::fmt::Write;

use crate::value::Value;

/// Entries of a list of scalars that are kept (recorder specification, section 2.2).
pub const SCALARS_KEPT: usize = 30;

/// One argument of an op.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Input<'a> {
    /// A tensor.
    Tensor(Tensor<'a>),
    /// A list of tensors.
    TensorList(&'a [Tensor<'a>]),
    /// A number, a truth value or a text.
    Scalar(Value<'a>),
    /// A list of such.
    ScalarList(&'a [Value<'a>]),
    /// Anything else, by the name of its type.
    Other(&'a str),
}

/// A tensor, without its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tensor<'a> {
    /// Length of each dimension.
    pub sizes: &'a [i64],
    /// Elements between neighbours in each dimension; empty if unknown.
    pub strides: &'a [i64],
    /// Type of an element, as torch writes it: `float`, `c10::BFloat16`.
    pub dtype: &'a str,
}

/// The JSON texts of a list of inputs, in memory that is used again.
#[derive(Debug, Default)]
pub(super) struct EncodedInputs {
    pub(super) dims: String,
    pub(super) strides: String,
    pub(super) types: String,
    pub(super) concrete: String,
}

impl EncodedInputs {
    pub(super) fn encode(&mut self, inputs: &[Input<'_>]) {
        list(&mut self.dims, inputs, |out, input| shape(out, input, |tensor| tensor.sizes));
        list(&mut self.strides, inputs, |out, input| shape(out, input, |tensor| tensor.strides));
        list(&mut self.types, inputs, |out, input| text(out, type_of(input)));
        list(&mut self.concrete, inputs, |out, input| {
            let mut value = String::new();
            concrete(&mut value, input);
            text(out, &value);
        });
    }
}

/// Shapes alone, as a trace shows them.
pub(super) fn dims(inputs: &[Input<'_>]) -> String {
    let mut dims = String::new();
    list(&mut dims, inputs, |out, input| shape(out, input, |tensor| tensor.sizes));
    dims
}

fn list<T>(out: &mut String, items: &[T], mut item: impl FnMut(&mut String, &T)) {
    out.clear();
    nested(out, items, &mut item);
}

fn nested<T>(out: &mut String, items: &[T], item: &mut impl FnMut(&mut String, &T)) {
    out.push('[');
    for (place, each) in items.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        item(out, each);
    }
    out.push(']');
}

fn numbers(out: &mut String, numbers: &[i64]) {
    nested(out, numbers, &mut |out: &mut String, number| _ = write!(out, "{number}"));
}

fn shape(out: &mut String, input: &Input<'_>, of: impl for<'a> Fn(&Tensor<'a>) -> &'a [i64]) {
    match input {
        Input::Tensor(tensor) => numbers(out, of(tensor)),
        Input::TensorList(tensors) => nested(out, tensors, &mut |out, tensor| numbers(out, of(tensor))),
        _ => out.push_str("[]"),
    }
}

fn type_of<'a>(input: &Input<'a>) -> &'a str {
    match input {
        Input::Tensor(tensor) => tensor.dtype,
        Input::TensorList(_) => "TensorList",
        Input::Scalar(_) => "Scalar",
        Input::ScalarList(_) => "ScalarList",
        Input::Other(name) => name,
    }
}

/// A text is JSON again: quotes and all that needs an escape are kept, where Kineto drops them.
fn text(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

fn concrete(out: &mut String, input: &Input<'_>) {
    match input {
        Input::Scalar(value) => scalar(out, value),
        Input::ScalarList(values) => {
            let kept = &values[..values.len().min(SCALARS_KEPT)];
            nested(out, kept, &mut |out: &mut String, value| scalar(out, value));
            if kept.len() < values.len() {
                out.insert_str(out.len() - 1, ",...");
            }
        }
        _ => {}
    }
}

fn scalar(out: &mut String, value: &Value<'_>) {
    // Writing into a String cannot fail.
    _ = match *value {
        Value::I64(value) => write!(out, "{value}"),
        Value::U64(value) => write!(out, "{value}"),
        Value::F64(value) => write!(out, "{value:?}"),
        Value::Bool(value) => write!(out, "{}", if value { "True" } else { "False" }),
        Value::Text(value) | Value::Json(value) => write!(out, "{value}"),
        Value::I64s(values) => {
            numbers(out, values);
            Ok(())
        }
        Value::Short(value) => out.write_str(value.as_str()),
        Value::Name(_) | Value::Bytes(_) | Value::Nothing => Ok(()),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_look_as_in_a_trace() {
        let tensor = Tensor { sizes: &[2, 3], strides: &[3, 1], dtype: "float" };
        let many: Vec<Value<'_>> = (0..31_i64).map(Value::I64).collect();
        let inputs = [
            Input::Tensor(tensor),
            Input::TensorList(&[tensor, tensor]),
            Input::Scalar(Value::F64(1.0)),
            Input::Scalar(Value::Text("a \"b\"")),
            Input::ScalarList(&many),
            Input::Other("Generator"),
        ];
        let mut encoded = EncodedInputs::default();
        encoded.encode(&inputs);
        assert_eq!(encoded.dims, "[[2,3],[[2,3],[2,3]],[],[],[],[]]");
        assert_eq!(encoded.strides, "[[3,1],[[3,1],[3,1]],[],[],[],[]]");
        assert_eq!(encoded.types, r#"["float","TensorList","Scalar","Scalar","ScalarList","Generator"]"#);
        let concrete: Vec<String> = serde_json::from_str(&encoded.concrete).unwrap();
        assert_eq!(concrete[2..4], ["1.0", "a \"b\""]);
        assert!(concrete[4].ends_with(",29,...]"), "{}", concrete[4]);
        encoded.encode(&[]);
        assert_eq!((encoded.dims.as_str(), encoded.concrete.as_str()), ("[]", "[]"));
    }
}
