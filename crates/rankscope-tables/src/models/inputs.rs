//! The inputs of an operator, as its profiler recorded them.

use serde_json::Value;

use super::Dtype;
use super::count::product;

/// The inputs of one operator, in the order of its signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    all: Vec<Input>,
    /// The type of the tensors in its lists.
    in_lists: Option<Dtype>,
}

/// What is recorded of one input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Input {
    /// Lengths, where it has them; a list of tensors has none.
    dims: Option<Vec<u64>>,
    /// Those of each tensor of a list that was recorded whole.
    list: Option<Vec<Vec<u64>>>,
    kind: String,
    strides: Option<Vec<i64>>,
    concrete: String,
}

/// An input that is a tensor with a known type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tensor<'a> {
    pub(super) dims: &'a [u64],
    pub(super) dtype: Dtype,
    strides: Option<&'a [i64]>,
}

impl Inputs {
    /// The inputs whose shapes, types, strides and values are the JSON lists given. None without shapes and types, and where a list is
    /// no JSON: the profiler cut it, or somebody else wrote it.
    pub fn parse(dims: &str, types: &str, strides: Option<&str>, concrete: Option<&str>) -> Option<Self> {
        let list = |text: &str| serde_json::from_str::<Vec<Value>>(text).ok();
        let (dims, types) = (list(dims)?, list(types)?);
        let strides = strides.map_or_else(|| Some(Vec::new()), list)?;
        let concrete = concrete.map_or_else(|| Some(Vec::new()), list)?;
        if dims.len() != types.len() {
            return None;
        }
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let lengths =
            |value: &Value| value.as_array().and_then(|dims| dims.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>());
        let tensors = |value: &Value| value.as_array().and_then(|list| list.iter().map(lengths).collect::<Option<Vec<_>>>());
        let input = |at: usize| Input {
            dims: lengths(&dims[at]),
            // A list of more than 30 tensors is written as an empty one.
            list: tensors(&dims[at]).filter(|list| !list.is_empty()),
            kind: text(types.get(at)),
            strides: strides.get(at).and_then(Value::as_array).and_then(|list| list.iter().map(Value::as_i64).collect()),
            concrete: text(concrete.get(at)),
        };
        Some(Self { all: (0..dims.len()).map(input).collect(), in_lists: None })
    }

    /// Whether the list in `text` was cut: it says so, or does not end.
    pub(crate) fn is_cut(text: &str) -> bool {
        let count = |signs: [char; 2]| text.chars().filter(|sign| signs.contains(sign)).count();
        text.contains("...") || count(['[', '(']) > count([']', ')'])
    }

    /// The same, of which it is known by other means that lists hold tensors of type `dtype`: the profiler does not record that.
    pub fn with_lists_of(self, dtype: Option<Dtype>) -> Self {
        Self { in_lists: dtype, ..self }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The type of input `at`, as recorded.
    pub fn recorded_type(&self, at: usize) -> Option<&str> {
        self.all.get(at).map(|input| input.kind.as_str())
    }

    /// Input `at`, if it is a tensor of known shape and type.
    pub(super) fn tensor(&self, at: usize) -> Option<Tensor<'_>> {
        let input = self.all.get(at)?;
        let dims = input.dims.as_deref()?;
        let strides = input.strides.as_deref().filter(|strides| strides.len() == dims.len());
        Some(Tensor { dims, dtype: Dtype::of(&input.kind)?, strides })
    }

    /// The tensors of the list that is input `at`, if it was recorded whole and their type is known.
    pub(super) fn tensors(&self, at: usize) -> Option<Vec<Tensor<'_>>> {
        let tensor = |dims| Some(Tensor { dims, dtype: self.in_lists?, strides: None });
        self.list(at)?.iter().map(|dims| tensor(dims)).collect()
    }

    /// Whether a list of tensors is not there, as the profiler leaves out those of more than 30.
    pub(crate) fn has_cut_list(&self) -> bool {
        self.all.iter().any(|input| input.kind == "TensorList" && input.list.is_none())
    }

    /// Whether the type of a tensor is none that a model knows, or not known.
    pub(crate) fn has_unknown_type(&self) -> bool {
        let is_unknown = |at: usize| self.dims(at).is_some() && Dtype::of(&self.all[at].kind).is_none();
        let has_list = self.all.iter().any(|input| input.kind == "TensorList");
        (has_list && self.in_lists.is_none()) || (0..self.len()).any(is_unknown)
    }

    /// The type of the tensors in its lists, where it is known.
    pub(super) fn list_type(&self) -> Option<Dtype> {
        self.in_lists
    }

    /// The lengths of the tensors of the list that is input `at`, if it was recorded whole.
    pub(super) fn list(&self, at: usize) -> Option<&[Vec<u64>]> {
        let input = self.all.get(at).filter(|input| input.kind == "TensorList")?;
        input.list.as_deref()
    }

    /// The lengths of input `at`, whatever its type, if it is a tensor.
    pub(super) fn dims(&self, at: usize) -> Option<&[u64]> {
        let input =
            self.all.get(at).filter(|input| !matches!(input.kind.as_str(), "" | "Scalar" | "ScalarList" | "TensorList"))?;
        input.dims.as_deref()
    }

    /// Its strides, where they are recorded.
    pub(super) fn strides(&self, at: usize) -> Option<&[i64]> {
        let rank = self.dims(at)?.len();
        self.all[at].strides.as_deref().filter(|strides| strides.len() == rank)
    }

    /// Bytes of input `at`, which may be absent: then 0. None where it is there and not known.
    pub(super) fn optional_bytes(&self, at: usize) -> Option<u64> {
        if self.is_absent(at) { Some(0) } else { self.tensor(at)?.bytes() }
    }

    /// Whether input `at` was not given.
    pub(super) fn is_absent(&self, at: usize) -> bool {
        self.all.get(at).is_none_or(|input| input.kind.is_empty())
    }

    /// Whether input `at` is a number.
    pub(super) fn is_scalar(&self, at: usize) -> bool {
        self.recorded_type(at) == Some("Scalar")
    }

    /// The value of input `at`, as recorded.
    pub(super) fn concrete(&self, at: usize) -> Option<&str> {
        self.all.get(at).map(|input| input.concrete.as_str()).filter(|text| !text.is_empty())
    }

    /// The truth value of input `at`.
    pub(super) fn flag(&self, at: usize) -> Option<bool> {
        match self.concrete(at)? {
            "True" | "true" => Some(true),
            "False" | "false" => Some(false),
            _ => None,
        }
    }

    /// The truth values of input `at`.
    pub(super) fn flags(&self, at: usize) -> Option<Vec<bool>> {
        serde_json::from_str(&self.concrete(at)?.to_lowercase()).ok()
    }

    /// The whole number that input `at` is.
    pub(super) fn number(&self, at: usize) -> Option<u64> {
        self.concrete(at)?.parse().ok()
    }

    /// The number that input `at` is.
    pub(super) fn real(&self, at: usize) -> Option<f64> {
        self.concrete(at)?.parse().ok()
    }

    /// The whole numbers of input `at`.
    pub(super) fn numbers(&self, at: usize) -> Option<Vec<i64>> {
        serde_json::from_str(self.concrete(at)?).ok()
    }
}

impl Tensor<'_> {
    /// How many elements it has.
    pub(super) fn elements(&self) -> Option<u64> {
        product(self.dims.iter().copied())
    }

    /// Bytes that its elements take in memory: what `expand` repeats is there once.
    pub(super) fn bytes(&self) -> Option<u64> {
        let stored =
            |at: usize| if self.strides.is_some_and(|strides| strides[at] == 0) { self.dims[at].min(1) } else { self.dims[at] };
        product((0..self.dims.len()).map(stored).chain([self.dtype.bytes()]))
    }

    /// Its lengths, where there are `N` of them.
    pub(super) fn lengths<const N: usize>(&self) -> Option<[u64; N]> {
        self.dims.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_read_as_the_profiler_writes_them() {
        let inputs = Inputs::parse(
            r#"[[4, 8], [], [[2], [3]], [], []]"#,
            r#"["c10::Half", "Scalar", "TensorList", "", "ScalarList"]"#,
            Some("[[8, 1], [], [[1], [1]], [], []]"),
            Some(r#"["", "0.5", "", "", "[1, -2]"]"#),
        );
        let inputs = inputs.unwrap();
        assert_eq!(inputs.tensor(0).unwrap().bytes(), Some(64));
        assert!(inputs.is_scalar(1) && inputs.tensor(1).is_none());
        assert!(inputs.tensor(2).is_none() && !inputs.is_absent(2));
        assert_eq!((inputs.optional_bytes(3), inputs.optional_bytes(9)), (Some(0), Some(0)));
        assert_eq!(inputs.numbers(4), Some(vec![1, -2]));
    }

    #[test]
    fn what_expand_repeats_is_in_memory_once() {
        let inputs = Inputs::parse("[[4, 8, 2]]", r#"["float"]"#, Some("[[2, 0, 1]]"), None).unwrap();
        let tensor = inputs.tensor(0).unwrap();
        assert_eq!((tensor.elements(), tensor.bytes()), (Some(64), Some(4 * 2 * 4)));
    }

    #[test]
    fn lists_that_were_cut_or_are_no_lists_tell_nothing() {
        assert_eq!(Inputs::parse("[[4, 8], [8", r#"["float", "float"]"#, None, None), None);
        assert_eq!(Inputs::parse("[[4, 8]]", r#"["float", "float"]"#, None, None), None);
        let inputs = Inputs::parse(r#"["...", [-1], [4]]"#, r#"["float", "float", "?"]"#, None, None).unwrap();
        assert_eq!((inputs.tensor(0), inputs.tensor(1), inputs.tensor(2)), (None, None, None));
    }
}
