//! What an operator was called with, as its model names it: `M`, `N` and `K` of a product, the stride of a convolution.
//!
//! Names and forms are those of the `param:` columns in TraceLens' sheets where it has them. What is not recorded is left out.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::inputs::Inputs;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Param {
    /// Not recorded, among others that are.
    Unknown,
    /// True or false.
    Flag(bool),
    /// A whole number: a length, a stride.
    Whole(i64),
    /// A number with a fraction.
    Real(f64),
    /// The name of a type, or of a sort.
    Text(String),
    /// Several.
    List(Vec<Param>),
}

/// Parameters by name, in the order in which tables have them.
pub type Params = Vec<(Cow<'static, str>, Param)>;

impl From<u64> for Param {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or(Self::Unknown, Self::Whole)
    }
}

impl From<bool> for Param {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl Param {
    pub(super) fn lengths(lengths: &[u64]) -> Self {
        Self::List(lengths.iter().map(|length| Self::from(*length)).collect())
    }

    fn whole(numbers: &[i64]) -> Self {
        Self::List(numbers.iter().map(|number| Self::Whole(*number)).collect())
    }
}

/// Parameters on the way to a table: each method adds one where the inputs have it.
pub(super) struct Collected<'a> {
    inputs: &'a Inputs,
    params: Params,
}

impl<'a> Collected<'a> {
    pub(super) fn of(inputs: &'a Inputs) -> Self {
        Self { inputs, params: Params::new() }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<Param>) -> Self {
        self.params.push((name.into(), value.into()));
        self
    }

    pub(super) fn shape(mut self, name: &'static str, at: usize) -> Self {
        self.params.extend(self.inputs.dims(at).map(|dims| (name.into(), Param::lengths(dims))));
        self
    }

    pub(super) fn strides(mut self, name: &'static str, at: usize) -> Self {
        self.params.extend(self.inputs.strides(at).map(|strides| (name.into(), Param::whole(strides))));
        self
    }

    /// The recorded types of several inputs; of those that have none, unknown.
    pub(super) fn types(self, name: &'static str, places: &[Option<usize>]) -> Self {
        let of = |at: &Option<usize>| {
            let text = at.and_then(|at| self.inputs.recorded_type(at)).filter(|text| !matches!(*text, "" | "Scalar"));
            text.map_or(Param::Unknown, Param::from)
        };
        let types = Param::List(places.iter().map(of).collect());
        self.with(name, types)
    }

    pub(super) fn flag(mut self, name: &'static str, at: usize) -> Self {
        self.params.extend(self.inputs.flag(at).map(|flag| (name.into(), Param::Flag(flag))));
        self
    }

    pub(super) fn whole(mut self, name: &'static str, at: usize) -> Self {
        self.params.extend(self.inputs.concrete(at).and_then(|text| Some((name.into(), Param::Whole(text.parse().ok()?)))));
        self
    }

    pub(super) fn real(mut self, name: &'static str, at: usize) -> Self {
        let real = |text: &str| text.parse().ok().filter(|real: &f64| real.is_finite());
        self.params.extend(self.inputs.concrete(at).and_then(real).map(|real| (name.into(), Param::Real(real))));
        self
    }

    /// A list of numbers.
    pub(super) fn numbers(mut self, name: &'static str, at: usize) -> Self {
        self.params.extend(self.inputs.numbers(at).map(|numbers| (name.into(), Param::whole(&numbers))));
        self
    }

    /// A list of true and false.
    pub(super) fn flags(mut self, name: &'static str, at: usize) -> Self {
        let list = |flags: Vec<bool>| Param::List(flags.into_iter().map(Param::Flag).collect());
        self.params.extend(self.inputs.flags(at).map(|flags| (name.into(), list(flags))));
        self
    }

    pub(super) fn done(self) -> Params {
        self.params
    }
}
