//! A host that is played, for tests: `RANKSCOPE_NCCL_TEST_HOST=NAME,OFFSET_NS,DRIFT_PPB` is its name, and how wrong its clocks are.

use std::sync::OnceLock;

use rankscope_record::TestClock;

const VARIABLE: &str = "RANKSCOPE_NCCL_TEST_HOST";

/// A host that is none.
pub(crate) struct TestHost {
    pub(crate) name: String,
    pub(crate) clock: TestClock,
}

/// The host that the environment asks for; usually none.
///
/// # Errors
/// In words, what is wrong with what it says.
pub(crate) fn from_environment() -> Result<Option<TestHost>, String> {
    match std::env::var(VARIABLE) {
        Ok(text) => parse(&text).map(Some).ok_or_else(|| format!("{VARIABLE}: \"{text}\" is not NAME,OFFSET_NS,DRIFT_PPB")),
        Err(_) => Ok(None),
    }
}

fn parse(text: &str) -> Option<TestHost> {
    let mut parts = text.split(',');
    let (name, offset_ns, drift_ppb) = (parts.next()?.to_owned(), parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then(|| TestHost { name, clock: clock(offset_ns, drift_ppb) })
}

/// A clock that is ahead by `offset_ns` when it is first read, and gains from then on.
fn clock(offset_ns: i64, drift_ppb: i64) -> TestClock {
    let first = OnceLock::new();
    TestClock::new(move |true_ns| {
        let since_ns = i128::from(true_ns) - i128::from(*first.get_or_init(|| true_ns));
        let drift_ns = since_ns * i128::from(drift_ppb) / 1_000_000_000;
        true_ns.saturating_add(offset_ns).saturating_add(i64::try_from(drift_ns).unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_two_numbers_are_a_host() {
        assert_eq!(parse("node-b,-5000,200").map(|host| host.name).as_deref(), Some("node-b"));
        assert!(["", "a,5", "a,b,c", "a,1,2,3"].into_iter().all(|text| parse(text).is_none()));
    }
}
