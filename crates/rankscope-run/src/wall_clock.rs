//! The time of day, in nanoseconds since 1970. How old a run is follows from it, and runs are deleted by their age: a clock that
//! cannot be right is an error and not the year 1970.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::Error;

/// Now, in nanoseconds since 1970.
///
/// # Errors
/// [`Error::WrongClock`] where this host's clock shows a time that an `i64` of nanoseconds since 1970 does not hold.
pub fn now_unix_ns() -> Result<i64, Error> {
    unix_ns(SystemTime::now())
}

fn unix_ns(time: SystemTime) -> Result<i64, Error> {
    let since = time.duration_since(UNIX_EPOCH).map_err(|_| Error::WrongClock)?;
    i64::try_from(since.as_nanos()).map_err(|_| Error::WrongClock)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_clock_before_1970_or_far_beyond_is_not_believed() {
        assert_eq!(unix_ns(UNIX_EPOCH + Duration::from_nanos(7)).ok(), Some(7));
        for wrong in [UNIX_EPOCH - Duration::from_nanos(1), UNIX_EPOCH + Duration::from_secs(1 << 40)] {
            let said = unix_ns(wrong).unwrap_err().to_string();
            assert!(said.starts_with("the clock of this host is wrong"), "{said}");
        }
    }
}
