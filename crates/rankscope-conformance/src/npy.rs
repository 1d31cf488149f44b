//! Arrays in numpy's .npy files: a line of text that names type and shape, then the values. Rows are moved whatever their type,
//! so values stay bytes; only the integers of metadata are read as numbers.

use rankscope_dispatch::Padded;
use rankscope_dispatch::movement::ElementType;

use super::error::{At, Error, NpyError, Place};
use super::files::Files;

/// An array whose values are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    /// The type as numpy writes it, `<f4` for one.
    pub(super) descr: String,
    pub(super) element_bytes: usize,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

const MAGIC: &[u8] = b"\x93NUMPY";

impl Tensor {
    /// Reads a .npy file.
    pub(super) fn read(files: &dyn Files, name: &str) -> Result<Self, Error> {
        Self::parse(&files.read(name).map_err(Error::File)?).at(|| Place::Named(files.shown(name)))
    }

    /// Values without a header, whose type and shape are given.
    pub(super) fn raw(bytes: Vec<u8>, element: ElementType, shape: Vec<usize>) -> Result<Self, NpyError> {
        Self { descr: descr(element).to_owned(), element_bytes: element.bytes() as usize, shape, bytes }.complete()
    }

    fn parse(bytes: &[u8]) -> Result<Self, NpyError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(NpyError::NotNpy)?;
        let (header, values) = match rest {
            [1, _, a, b, rest @ ..] => rest.split_at_checked(usize::from(u16::from_le_bytes([*a, *b]))),
            [2 | 3, _, a, b, c, d, rest @ ..] => rest.split_at_checked(u32::from_le_bytes([*a, *b, *c, *d]) as usize),
            _ => return Err(NpyError::Version),
        }
        .ok_or(NpyError::CutOff)?;
        let header = std::str::from_utf8(header).map_err(NpyError::HeaderIsNoText)?;
        let after = |key: &str| header.split_once(key).map(|(_, rest)| rest.trim_start_matches([' ', ':']));
        let descr = after("'descr'").and_then(|rest| rest.strip_prefix('\'')?.split('\'').next());
        let descr = descr.ok_or(NpyError::Fields)?.to_owned();
        if !after("'fortran_order'").is_some_and(|rest| rest.starts_with("False")) {
            return Err(NpyError::ColumnsFirst);
        }
        let shape = after("'shape'").and_then(|rest| rest.strip_prefix('(')?.split(')').next()).ok_or(NpyError::NoShape)?;
        let axes = shape.split(',').map(str::trim).filter(|axis| !axis.is_empty());
        let axes = axes.map(str::parse).collect::<Result<Vec<usize>, _>>();
        let shape = axes.map_err(|source| NpyError::Shape { text: shape.to_owned(), source })?;
        let element_bytes = descr.get(2..).and_then(|size| size.parse().ok()).filter(|size| (1..=64).contains(size));
        if descr.contains(['O', 'U', 'S', 'M', 'm']) {
            return Err(NpyError::NotNumbers { descr });
        }
        let Some(element_bytes) = element_bytes else { return Err(NpyError::UnknownType { descr }) };
        Self { descr, element_bytes, shape, bytes: values.to_vec() }.complete()
    }

    fn complete(self) -> Result<Self, NpyError> {
        let Self { shape, element_bytes, bytes, .. } = &self;
        let expected = shape.iter().try_fold(*element_bytes, |bytes, &axis| bytes.checked_mul(axis));
        match expected == Some(bytes.len()) {
            true => Ok(self),
            false => Err(NpyError::Size { bytes: bytes.len(), shape: shape.clone(), element_bytes: *element_bytes }),
        }
    }

    /// The file with header.
    pub(super) fn npy(&self) -> Vec<u8> {
        let axes = self.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let comma = if self.shape.len() == 1 { "," } else { "" };
        let mut header = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({axes}{comma}), }}", self.descr);
        let length = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64) - MAGIC.len() - 4;
        header.push_str(&" ".repeat(length - header.len() - 1));
        header.push('\n');
        [MAGIC, &[1, 0], &(length as u16).to_le_bytes(), header.as_bytes(), &self.bytes].concat()
    }

    /// The values of an array of integers.
    pub(super) fn integers(&self) -> Result<Padded, Error> {
        let other = || NpyError::NotIntegers { descr: self.descr.clone() };
        let signed = match self.descr.as_bytes().get(1) {
            Some(b'i') => true,
            Some(b'u' | b'b') => false,
            _ => return Err(other().into()),
        };
        if self.element_bytes > 8 {
            return Err(other().into());
        }
        let number = |element: &[u8]| {
            let mut element = element.to_vec();
            if self.descr.starts_with('>') {
                element.reverse();
            }
            let is_negative = signed && element.last().is_some_and(|byte| byte & 0x80 != 0);
            element.resize(8, if is_negative { 0xff } else { 0 });
            i64::from_le_bytes(element.try_into().unwrap_or_default())
        };
        let values = self.bytes.chunks(self.element_bytes).map(number);
        Ok(Padded::new(&self.shape, values.collect())?)
    }
}

/// numpy's name of a type. It has none for bf16, and keeps two bytes of any meaning.
pub(super) fn descr(element: ElementType) -> &'static str {
    match element {
        ElementType::F64 => "<f8",
        ElementType::F32 => "<f4",
        ElementType::F16 => "<f2",
        ElementType::Bf16 => "|V2",
        ElementType::I64 => "<i8",
        ElementType::I32 => "<i4",
        ElementType::I16 => "<i2",
        ElementType::I8 => "|i1",
        ElementType::U8 => "|u1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn integers(descr: &str, shape: &[usize], bytes: &[u8]) -> Tensor {
        let element_bytes = descr[2..].parse().unwrap();
        Tensor { descr: descr.to_owned(), element_bytes, shape: shape.to_vec(), bytes: bytes.to_vec() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for shape in [&[][..], &[0], &[3], &[1, 3]] {
            let bytes = vec![7; 4 * shape.iter().product::<usize>()];
            let tensor = integers("<i4", shape, &bytes);
            let file = tensor.npy();
            assert_eq!(file.iter().position(|&byte| byte == b'\n').map(|end| (end + 1) % 64), Some(0));
            assert_eq!(Tensor::parse(&file).unwrap(), tensor);
        }
    }

    #[test]
    fn integers_of_every_width_and_order_are_numbers() {
        let values = |tensor: Tensor| tensor.integers().unwrap().values().to_vec();
        assert_eq!(values(integers("<i2", &[2], &[0xff, 0xff, 1, 0])), [-1, 1]);
        assert_eq!(values(integers(">i4", &[1], &[0, 0, 1, 2])), [258]);
        assert_eq!(values(integers("|u1", &[1], &[255])), [255]);
        assert_eq!(values(integers("|b1", &[2], &[1, 0])), [1, 0]);
        assert!(integers("<f4", &[1], &[0; 4]).integers().is_err());
    }

    #[test]
    fn what_is_no_array_is_refused() {
        let whole = integers("<i8", &[2], &[0; 16]).npy();
        for cut in [0, 5, 9, 40, whole.len() - 1] {
            assert!(Tensor::parse(&whole[..cut]).is_err(), "{cut}");
        }
        let text = |header: &str| [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
        for header in [
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,), }",
            "{'descr': '|O8', 'fortran_order': False, 'shape': (0,), }",
            "{'descr': '<f4', 'fortran_order': True, 'shape': (0,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999, 99999999999999999), }",
            "",
        ] {
            assert!(Tensor::parse(&text(header)).is_err(), "{header}");
        }
    }
}
