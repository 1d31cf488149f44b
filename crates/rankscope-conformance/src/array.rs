//! Arrays in JSON. Small ones are nested lists. Big ones are packed: shape, sums and a hash to compare, and, where they are to
//! be read again, their values as 32-bit integers in zlib in base64. Those of numpy are the name of a .npy file of integers.

use std::io::{Read, Write as _};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use rankscope_dispatch::Padded;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::error::{ArrayError, At, Error, Place};
use super::files::Files;
use super::npy;
use rankscope_plan_files::plan::hex;

/// How arrays are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Nested,
    Packed,
}

/// An array as shape, sums, hash and packed values.
#[derive(Serialize)]
pub(crate) struct Packed {
    shape: Vec<usize>,
    sum: i64,
    /// Every value times its position from 1, in row-major order.
    weighted_sum_mod_2p61m1: i64,
    sha256_i64le: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    zlib_b64_i32le: Option<String>,
}

impl Packed {
    /// With its values, which must fit 32 bits.
    pub(crate) fn new(array: &Padded) -> Result<Self, Error> {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        for &value in array.values() {
            let value = i32::try_from(value).map_err(|source| ArrayError::Wide { value, source })?;
            zlib.write_all(&value.to_le_bytes()).map_err(ArrayError::Zlib)?;
        }
        let zlib = zlib.finish().map_err(ArrayError::Zlib)?;
        Ok(Self { zlib_b64_i32le: Some(BASE64_STANDARD.encode(zlib)), ..Self::digest(array.shape(), array.values()) })
    }

    /// Without its values.
    pub(crate) fn digest(shape: &[usize], values: &[i64]) -> Self {
        let mut hash = Sha256::new();
        let (mut sum, mut weighted) = (0_i64, 0_i128);
        for (&value, position) in values.iter().zip(1_i128..) {
            hash.update(value.to_le_bytes());
            sum = sum.wrapping_add(value);
            weighted = (weighted + position * i128::from(value)) % MODULUS;
        }
        let sha256_i64le = hex(&hash.finalize());
        let weighted_sum_mod_2p61m1 = weighted.rem_euclid(MODULUS) as i64;
        Self { shape: shape.to_vec(), sum, weighted_sum_mod_2p61m1, sha256_i64le, zlib_b64_i32le: None }
    }
}

const MODULUS: i128 = (1 << 61) - 1;

/// Whether `value` is an array in packed form, with values or without.
pub(crate) fn is_packed(value: &Value) -> bool {
    value.get("shape").is_some() && value.get("sha256_i64le").is_some()
}

/// An array in any form. `files` has those that are named.
pub(crate) fn read(value: &Value, files: &dyn Files) -> Result<Padded, Error> {
    if let Some(packed) = value.get("zlib_b64_i32le") {
        return unpack(value, packed);
    }
    if let Some(name) = value.as_str() {
        return npy::Tensor::read(files, name)?.integers().at(|| Place::Named(name.to_owned()));
    }
    if !value.is_array() {
        return Err(ArrayError::NoForm.into());
    }
    let (shape, values) = flatten(value, |entry| {
        let number = entry.as_i64().or_else(|| entry.as_bool().map(i64::from));
        number.ok_or(ArrayError::NoInteger)
    })?;
    Ok(Padded::new(&shape, values)?)
}

/// Shape and entries of nested lists; the first rows say how deep they are, and `entry` takes what lies there.
pub(super) fn flatten<T>(
    lists: &Value,
    entry: impl Fn(&Value) -> Result<T, ArrayError>,
) -> Result<(Vec<usize>, Vec<T>), ArrayError> {
    let (mut shape, mut level) = (Vec::new(), lists);
    while let Value::Array(list) = level {
        shape.push(list.len());
        let Some(first) = list.first() else { break };
        level = first;
    }
    let mut values = Vec::new();
    gather(lists, &shape, &entry, &mut values)?;
    Ok((shape, values))
}

fn gather<T>(
    value: &Value,
    shape: &[usize],
    entry: &impl Fn(&Value) -> Result<T, ArrayError>,
    values: &mut Vec<T>,
) -> Result<(), ArrayError> {
    match (value, shape) {
        (Value::Array(list), [axis, inner @ ..]) => {
            if list.len() != *axis {
                return Err(ArrayError::Ragged { length: list.len(), first: *axis });
            }
            list.iter().try_for_each(|value| gather(value, inner, entry, values))
        }
        (value, []) => {
            values.push(entry(value)?);
            Ok(())
        }
        (value, _) => Err(ArrayError::NoList { value: value.clone() }),
    }
}

/// Values of this shape as nested lists.
pub(crate) fn nested<T: Clone + Into<Value>>(shape: &[usize], values: &[T]) -> Value {
    match shape {
        [] => values.first().cloned().map_or(Value::Null, Into::into),
        [_] => values.iter().cloned().collect(),
        [axis, inner @ ..] => {
            let width = inner.iter().product::<usize>();
            (0..*axis).map(|at| nested(inner, &values[at * width..(at + 1) * width])).collect()
        }
    }
}

fn unpack(value: &Value, packed: &Value) -> Result<Padded, Error> {
    let shape: Option<Vec<usize>> = value["shape"]
        .as_array()
        .and_then(|shape| shape.iter().map(|axis| axis.as_u64().and_then(|axis| usize::try_from(axis).ok())).collect());
    let shape = shape.ok_or(ArrayError::NoShape)?;
    let zlib = BASE64_STANDARD.decode(packed.as_str().ok_or(ArrayError::NoText)?).map_err(ArrayError::Base64)?;
    // One byte may unpack to a thousand; what is beyond the shape is not read.
    let most = shape.iter().try_fold(4_u64, |bytes, &axis| bytes.checked_mul(axis as u64)).unwrap_or(u64::MAX);
    if most > MOST_UNPACKED_BYTES {
        return Err(ArrayError::TooLarge { shape }.into());
    }
    let mut bytes = Vec::new();
    ZlibDecoder::new(zlib.as_slice()).take(most + 1).read_to_end(&mut bytes).map_err(ArrayError::Zlib)?;
    let (words, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(ArrayError::HalfValue { bytes: bytes.len() }.into());
    }
    Ok(Padded::new(&shape, words.iter().map(|&word| i64::from(i32::from_le_bytes(word))).collect())?)
}

/// Twenty times the largest array of 8192 ranks.
const MOST_UNPACKED_BYTES: u64 = 1 << 28;
