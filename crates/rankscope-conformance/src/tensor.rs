//! Tensors of the user: rows by rank and token, as nested lists in the case, in a .npy file, or in a file without a header whose
//! type and shape the case gives. Whatever they hold is moved, not computed with.

use anyhow::{Context, Result, bail, ensure};
use rankscope_dispatch::metadata::Metadata;
use rankscope_dispatch::movement::ElementType;
use rankscope_dispatch::orchestrate_simulate;
use rankscope_plan_files::plan::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::array::{flatten, nested};
use super::npy::Tensor;
use super::{Case, MissingInput, Source};

/// A file that an answer names, and that is not what the metadata and the input make it.
#[derive(Debug, thiserror::Error)]
#[error("{file}: byte {at} is not what the metadata and the input make it")]
pub(crate) struct WrongFile {
    pub(crate) file: String,
    pub(crate) at: usize,
}

/// The tensor of a case.
pub(super) enum Rows {
    /// Values as they stand in the case; shape, and all values.
    Listed(Vec<usize>, Vec<Value>),
    Filed(Tensor),
}

impl Rows {
    pub(super) fn of(case: &Case) -> Result<Self> {
        let value = case.input("input").ok_or_else(|| MissingInput::new("input"))?;
        let rows = match value {
            Value::String(name) => Self::Filed(Tensor::read(case.files(), name)?),
            Value::Object(_) => Self::Filed(raw(&case.object("input")?.ok_or_else(|| MissingInput::new("input"))?)?),
            list => {
                let entry = |entry: &Value| match entry {
                    Value::Array(_) => bail!("a list where the first row has a number"),
                    entry => Ok(entry.clone()),
                };
                let (shape, values) = flatten(list, entry).context("the input `input`")?;
                Self::Listed(shape, values)
            }
        };
        let shape = rows.shape();
        ensure!(
            shape.len() >= 2,
            "the input `input` has {} axes; ranks, tokens and the rest of a row are asked for",
            shape.len()
        );
        Ok(rows)
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
        ensure!(ranks == metadata.world_size, "the input `input` has {ranks} ranks, and the metadata {}", metadata.world_size);
        let shape: Vec<usize> = [ranks, tokens].into_iter().chain(self.shape()[2..].iter().copied()).collect();
        let size = shape.iter().try_fold(16_usize, |size, &axis| size.checked_mul(axis)).filter(|&size| size <= MOST_BYTES);
        ensure!(size.is_some(), "an output of shape {shape:?} is too large");
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
            (Self::Listed(..), Some(_)) => bail!("`write_to` is for an `input` that is a file"),
            (Self::Filed(_), None) => bail!("the input `write_to` is missing: it names the file for the output"),
        };
        let (tensor, name) = tensor;
        let bytes = if name.ends_with(".npy") { tensor.npy() } else { tensor.bytes.clone() };
        match source {
            Source::Library => case.files().write(name, &bytes).map_err(anyhow::Error::from_boxed)?,
            Source::Rules => {
                let found = case.files().read(name).map_err(anyhow::Error::from_boxed)?;
                let differs = found.iter().zip(&bytes).position(|(found, right)| found != right);
                let differs = differs.or((found.len() != bytes.len()).then_some(found.len().min(bytes.len())));
                if let Some(at) = differs {
                    return Err(WrongFile { file: name.to_owned(), at }.into());
                }
            }
        }
        let hash = hex(&Sha256::digest(&tensor.bytes));
        Ok(json!({"file": name, "descr": tensor.descr, "shape": tensor.shape, "sha256": hash}))
    }
}

/// 16 GiB; a byte counts 16 here, which is what a value in a list takes at least.
const MOST_BYTES: usize = 1 << 34;

/// A file without a header: `file`, `dtype` and `shape`.
fn raw(case: &Case) -> Result<Tensor> {
    let text = |key: &str| case.find(key).and_then(Value::as_str).with_context(|| format!("`input`: `{key}` is missing"));
    let (name, dtype) = (text("file")?, text("dtype")?);
    let element = ElementType::named(dtype).with_context(|| {
        let known = ElementType::ALL.map(ElementType::as_str).join(", ");
        format!("`input`: no dtype is called {dtype}; one of {known}, or numpy's and torch's names of these")
    })?;
    let shape = case.find("shape").cloned().unwrap_or_default();
    let shape: Vec<usize> = serde_json::from_value(shape).context("`input`: `shape` must be a list of lengths")?;
    Tensor::raw(case.files().read(name).map_err(anyhow::Error::from_boxed)?, element, shape).with_context(|| name.to_owned())
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
