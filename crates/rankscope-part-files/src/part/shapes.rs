//! Shapes of columns that several blocks have: differences, options, spans of time, numbers that have to fit a type.

use super::vocabulary::Numbered;
use crate::error::Error;
use crate::{Columns, ColumnsWriter};

impl ColumnsWriter {
    /// Numbers by their difference from the one before, the first from 0.
    pub(super) fn deltas(&mut self, values: impl IntoIterator<Item = i64>) {
        let mut last = 0i64;
        let by = values.into_iter().map(|value| value.wrapping_sub(std::mem::replace(&mut last, value)));
        self.signed(&by.collect::<Vec<_>>());
    }

    /// Whether there is a number, and then those that there are, by their difference from the one before.
    pub(super) fn options(&mut self, values: &[Option<u64>]) {
        self.bits(&values.iter().map(Option::is_some).collect::<Vec<_>>());
        self.deltas(values.iter().flatten().map(|value| value.cast_signed()));
    }

    /// Starts by their difference from the one before, and lengths.
    pub(super) fn spans(&mut self, spans: impl Iterator<Item = (i64, i64)> + Clone) {
        self.deltas(spans.clone().map(|(start, _)| start));
        self.signed(&spans.map(|(start, end)| end.wrapping_sub(start)).collect::<Vec<_>>());
    }

    /// Unsigned numbers of any sort.
    pub(super) fn counts(&mut self, values: impl IntoIterator<Item = u64>) {
        self.unsigned(&values.into_iter().collect::<Vec<_>>());
    }
}

impl Columns<'_> {
    pub(super) fn deltas(&mut self) -> Result<Vec<i64>, Error> {
        let mut values = self.signed()?;
        let mut last = 0i64;
        for value in &mut values {
            last = last.wrapping_add(*value);
            *value = last;
        }
        Ok(values)
    }

    pub(super) fn options(&mut self) -> Result<Vec<Option<u64>>, Error> {
        self.options_as(|value| value)
    }

    /// The same as what `of` makes of each.
    pub(super) fn options_as<T>(&mut self, of: impl Fn(Option<u64>) -> T) -> Result<Vec<T>, Error> {
        let (is_there, values) = (self.flags()?, self.deltas()?);
        if is_there.count() != values.len() {
            return Err(self.misfit("there are not as many numbers as the column before them says"));
        }
        let mut values = values.into_iter().map(i64::cast_unsigned);
        // Mostly all of them have one, or none has.
        match values.len() {
            0 => Ok((0..is_there.len()).map(|_| of(None)).collect()),
            all if all == is_there.len() => Ok(values.map(|value| of(Some(value))).collect()),
            _ => Ok(is_there.iter().map(|is_there| of(if is_there { values.next() } else { None })).collect()),
        }
    }

    pub(super) fn spans(&mut self) -> Result<Vec<(i64, i64)>, Error> {
        let (starts, lengths) = (self.deltas()?, self.signed()?);
        self.fit(starts.len(), &[lengths.len()])?;
        Ok(starts.into_iter().zip(lengths).map(|(start, length)| (start, start.wrapping_add(length))).collect())
    }

    pub(super) fn variants<T: Numbered>(&mut self) -> Result<Vec<T>, Error> {
        self.known(T::of)
    }

    pub(super) fn texts(&mut self) -> Result<Vec<String>, Error> {
        Ok(self.strings()?.into_iter().map(str::to_owned).collect())
    }

    /// Unsigned numbers that a `T` can hold.
    pub(super) fn narrow<T: TryFrom<u64>>(&mut self) -> Result<Vec<T>, Error> {
        let values = self.unsigned()?;
        values.into_iter().map(|value| self.one(value)).collect()
    }

    /// `value` as a `T`.
    pub(super) fn one<N, T: TryFrom<N>>(&self, value: N) -> Result<T, Error> {
        T::try_from(value).map_err(|_| self.misfit("a number is larger than what it counts can be"))
    }

    /// The rows of a column of which the number is fixed.
    pub(super) fn exactly<T, const N: usize>(&self, rows: Vec<T>) -> Result<[T; N], Error> {
        rows.try_into().map_err(|_| self.misfit("a column has more or fewer rows than it always has"))
    }

    /// Whether all columns of a table have its rows.
    pub(super) fn fit(&self, rows: usize, columns: &[usize]) -> Result<(), Error> {
        match columns.iter().all(|len| *len == rows) {
            true => Ok(()),
            false => Err(self.misfit("its columns are of different lengths")),
        }
    }
}
