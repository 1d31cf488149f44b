//! Whole nanoseconds in files.
//!
//! Written as integers. Some writers of the past put floats there (`1.5e9`); they are read as near as they can be.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// An integer of nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Nanos(pub(super) i64);

impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NanosVisitor)
    }
}

struct NanosVisitor;

impl Visitor<'_> for NanosVisitor {
    type Value = Nanos;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nanoseconds that fit 64 bits")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Nanos, E> {
        Ok(Nanos(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Nanos, E> {
        i64::try_from(value).map(Nanos).map_err(|_| E::custom(format!("{value} is beyond the year 2262")))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Nanos, E> {
        // 2^63 itself does not fit.
        let fits = value.abs() < i64::MAX as f64;
        if fits { Ok(Nanos(value.round() as i64)) } else { Err(E::custom(format!("{value} is not a time in nanoseconds"))) }
    }
}
