//! Tensors of the user: rows by rank and token, as nested lists in the case, in a .npy file, or in a file without a header whose
//! type and shape the case gives. Whatever they hold is moved, not computed with.

use rankscope_dispatch::metadata::Metadata;
use rankscope_dispatch::movement::ElementType;
use rankscope_dispatch::orchestrate_simulate;
use rankscope_plan_files::plan::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::array::{flatten, nested};
use super::error::{ArrayError, At, Error, InputFault, Place, Result, TensorError};
use super::npy::Tensor;
use super::{Case, Source};

/// The tensor of a case.
pub(super) enum Rows {
    /// Values as they stand in the case; shape, and all values.
    Listed(Vec<usize>, Vec<Value>),
    Filed(Tensor),
}

impl Rows {
    pub(super) fn of(case: &Case) -> Result<Self> {
        let value = case.input("input").ok_or_else(|| Error::missing("input"))?;
        let rows = match value {
            Value::String(name) => Self::Filed(Tensor::read(case.files(), name)?),
            Value::Object(_) => Self::Filed(raw(&case.object("input")?.ok_or_else(|| Error::missing("input"))?)?),
            list => {
                let entry = |entry: &Value| match entry {
                    Value::Array(_) => Err(ArrayError::TooDeep),
                    entry => Ok(entry.clone()),
                };
                let (shape, values) = flatten(list, entry).at(|| Place::Input("input".to_owned()))?;
                Self::Listed(shape, values)
            }
        };
        match rows.shape().len() {
            found @ 0..2 => Err(Error::input("input", InputFault::Axes { found })),
            _ => Ok(rows),
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Self::Listed(shape, _) => shape,
            Self::Filed(tensor) => &tensor.shape,
        }
    }

    /// What `metadata` make of it, with `tokens` rows for each rank; what nothing is written to is zero.
    pub(super) fn moved(&self, metadata: &Metadata, tokens: usize) -> Result<Self> {
        let (ranks, hidden) = (self.shape()[0], self.shape()[2..].iter().product::<usize>());
        if ranks != metadata.world_size {
            return Err(Error::input("input", InputFault::Ranks { ranks, metadata: metadata.world_size }));
        }
        let shape: Vec<usize> = [ranks, tokens].into_iter().chain(self.shape()[2..].iter().copied()).collect();
        let size =
            shape.iter().try_fold(16_u64, |size, &axis| size.checked_mul(axis as u64)).filter(|&size| size <= MOST_BYTES);
        if size.is_none() {
            return Err(TensorError::Output { shape }.into());
        }
        Ok(match self {
            Self::Listed(_, values) => {
                let places: Vec<usize> = (0..values.len()).collect();
                let output = scattered(&places, ranks, hidden, tokens, usize::MAX, metadata)?;
                Self::Listed(shape, output.into_iter().map(|at| values.get(at).cloned().unwrap_or(json!(0))).collect())
            }
            Self::Filed(Tensor { descr, element_bytes, bytes, .. }) => {
                let bytes = scattered(bytes, ranks, hidden * element_bytes, tokens, 0, metadata)?;
                Self::Filed(Tensor { descr: descr.clone(), element_bytes: *element_bytes, shape, bytes })
            }
        })
    }

    /// As it stands in an answer: a nested list, or what is in the file `name`.
    pub(super) fn answer(self, case: &Case, name: Option<&str>, source: Source) -> Result<Value> {
        let tensor = match (self, name) {
            (Self::Listed(shape, values), None) => return Ok(nested(&shape, &values)),
            (Self::Filed(tensor), Some(name)) => (tensor, name),
            (Self::Listed(..), Some(_)) => return Err(TensorError::ListIntoFile.into()),
            (Self::Filed(_), None) => return Err(Error::input("write_to", InputFault::NoOutputFile)),
        };
        let (tensor, name) = tensor;
        let bytes = if name.ends_with(".npy") { tensor.npy() } else { tensor.bytes.clone() };
        match source {
            Source::Library => case.files().write(name, &bytes).map_err(Error::File)?,
            Source::Rules => {
                let found = case.files().read(name).map_err(Error::File)?;
                let differs = found.iter().zip(&bytes).position(|(found, right)| found != right);
                let differs = differs.or((found.len() != bytes.len()).then_some(found.len().min(bytes.len())));
                if let Some(at) = differs {
                    return Err(Error::WrongFile { file: name.to_owned(), at });
                }
            }
        }
        let hash = hex(&Sha256::digest(&tensor.bytes));
        Ok(json!({"file": name, "descr": tensor.descr, "shape": tensor.shape, "sha256": hash}))
    }
}

/// 16 GiB; a byte counts 16 here, which is what a value in a list takes at least.
const MOST_BYTES: u64 = 1 << 34;

/// A file without a header: `file`, `dtype` and `shape`.
fn raw(case: &Case) -> Result<Tensor> {
    let text = |key| case.find(key).and_then(Value::as_str).ok_or(TensorError::Missing { key });
    let (name, dtype) = (text("file")?, text("dtype")?);
    let element = ElementType::named(dtype).ok_or_else(|| TensorError::UnknownType { name: dtype.to_owned() })?;
    let shape = case.find("shape").cloned().unwrap_or_default();
    let shape: Vec<usize> = serde_json::from_value(shape).map_err(TensorError::Shape)?;
    Tensor::raw(case.files().read(name).map_err(Error::File)?, element, shape).at(|| Place::Named(name.to_owned()))
}

fn scattered<T: Copy>(
    values: &[T],
    ranks: usize,
    hidden: usize,
    tokens: usize,
    empty: T,
    metadata: &Metadata,
) -> Result<Vec<T>> {
    let width = values.len().checked_div(ranks).unwrap_or(0);
    let input: Vec<Vec<T>> = (0..ranks).map(|rank| values[rank * width..(rank + 1) * width].to_vec()).collect();
    let mut output = vec![vec![empty; tokens * hidden]; ranks];
    orchestrate_simulate(&input, &mut output, hidden, metadata)?;
    Ok(output.concat())
}
