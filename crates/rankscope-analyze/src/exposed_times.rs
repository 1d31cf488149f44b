//! The exposed time of each of a rank's collectives, in as few bits as they need: a job has as many as it has rows.

use rankscope_collectives::{Column, Places};

/// Exposed times in nanoseconds, in the order of a rank's collectives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExposedTimes(Column);

impl ExposedTimes {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// That of the collective numbered `at`; none where there are not so many.
    #[inline]
    pub fn get(&self, at: usize) -> Option<i64> {
        (at < self.0.len()).then(|| self.0.get(at).cast_signed())
    }

    /// Those of the collectives at these `places`, into `to`; 0 of one that is not there.
    pub fn gather(&self, places: &Places<'_>, to: &mut Vec<u64>) {
        if places.are_below(self.0.len()) {
            self.0.gather(places, to);
        } else {
            to.clear();
            to.extend(places.iter().map(|place| self.get(place).unwrap_or(0).cast_unsigned()));
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = i64> {
        self.0.iter().map(u64::cast_signed)
    }

    /// Lets go of room for more.
    pub fn shrink_to_fit(&mut self) {
        self.0.shrink_to_fit();
    }
}

impl Extend<i64> for ExposedTimes {
    fn extend<I: IntoIterator<Item = i64>>(&mut self, times_ns: I) {
        self.0.extend(times_ns.into_iter().map(i64::cast_unsigned));
    }
}

impl FromIterator<i64> for ExposedTimes {
    fn from_iter<I: IntoIterator<Item = i64>>(times_ns: I) -> Self {
        Self(times_ns.into_iter().map(i64::cast_unsigned).collect())
    }
}
