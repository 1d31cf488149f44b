//! [`Calls`]: the calls of the runtime and the driver by CUPTI's numbers, and what is to be done with each.
//!
//! Which calls there are is asked of the library by their names, so that no list of numbers has to follow its versions. A call that
//! gives work to a device is told of, so that the work is tied to its span; a call that is relevant is recorded.

use std::collections::HashMap;
use std::sync::Arc;

use rankscope_devices::{ApiCalls, CallSort};

use crate::abi::Domain;
use crate::library::Library;

/// Numbers that are asked for. CUDA 13 has some five hundred calls of the runtime and eight hundred of the driver.
const NUMBERS: u32 = 4_096;

/// Numbers without a call behind which there are none any more. Numbers that were given up leave holes.
const HOLE_MAX: u32 = 64;

/// The name without what marks its version and its kind of default stream.
fn plain(name: &str) -> &str {
    let mut name = name;
    loop {
        let shorter = name.strip_suffix("_ptsz").or_else(|| name.strip_suffix("_ptds")).or_else(|| without_version(name));
        match shorter {
            Some(shorter) => name = shorter,
            None => return name,
        }
    }
}

fn without_version(name: &str) -> Option<&str> {
    let (start, digits) = name.rsplit_once("_v")?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(start)
}

/// A call.
#[derive(Clone, Debug)]
struct Call {
    name: Arc<str>,
    sort: CallSort,
}

/// The calls there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    known: HashMap<(i32, u32), Call>,
}

impl Calls {
    /// Those of this library.
    pub(crate) fn of(library: &Library) -> Self {
        Self::named(|domain, cbid| library.callback_name(domain, cbid))
    }

    fn named(name_of: impl Fn(Domain, u32) -> Option<String>) -> Self {
        let mut known = HashMap::new();
        for domain in Domain::BOTH {
            let mut hole = 0;
            for cbid in 1..NUMBERS {
                let Some(name) = name_of(domain, cbid) else {
                    hole += 1;
                    if hole > HOLE_MAX {
                        break;
                    }
                    continue;
                };
                hole = 0;
                let name = plain(&name);
                known.insert((domain as i32, cbid), Call { name: name.into(), sort: CallSort::of(name) });
            }
        }
        Self { known }
    }

    /// Those that are to be told of, while they are made.
    pub(crate) fn launches(&self) -> impl Iterator<Item = (Domain, u32)> {
        self.these(|_, call| call.sort == CallSort::Launch)
    }

    /// Those that are to be recorded.
    pub(crate) fn recorded(&self, which: ApiCalls) -> impl Iterator<Item = (Domain, u32)> {
        self.these(move |domain, call| is_recorded(which, domain, call.sort))
    }

    /// Those of a domain that are not among these, which are in order.
    pub(crate) fn others(&self, domain: Domain, calls: &[u32]) -> Vec<u32> {
        let is_other = |(of, call): &(Domain, u32)| *of == domain && calls.binary_search(call).is_err();
        self.these(|_, _| true).filter(is_other).map(|(_, call)| call).collect()
    }

    fn these(&self, wanted: impl Fn(Domain, &Call) -> bool) -> impl Iterator<Item = (Domain, u32)> {
        let mut numbers: Vec<(i32, u32, Domain)> = Vec::new();
        for domain in Domain::BOTH {
            let of_domain = self.known.iter().filter(|(number, call)| number.0 == domain as i32 && wanted(domain, call));
            numbers.extend(of_domain.map(|(number, _)| (number.0, number.1, domain)));
        }
        numbers.sort_unstable_by_key(|(number, cbid, _)| (*number, *cbid));
        numbers.into_iter().map(|(_, cbid, domain)| (domain, cbid))
    }

    /// What a call is called, if it is to be recorded. A call that the library has no name for goes by its number.
    pub(crate) fn name(&self, which: ApiCalls, domain: Domain, cbid: u32) -> Option<Arc<str>> {
        match self.known.get(&(domain as i32, cbid)) {
            Some(call) => is_recorded(which, domain, call.sort).then(|| call.name.clone()),
            None => (which == ApiCalls::All).then(|| format!("call {cbid}").into()),
        }
    }
}

/// Of the driver, whose calls the runtime makes in great numbers, never all.
fn is_recorded(which: ApiCalls, domain: Domain, sort: CallSort) -> bool {
    which.records(sort) && (domain == Domain::Runtime || sort != CallSort::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_call_have_its_name() {
        for (name, expected) in [
            ("cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"),
            ("cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyHtoDAsync"),
            ("cuLaunchKernel", "cuLaunchKernel"),
            ("cu_vector", "cu_vector"),
        ] {
            assert_eq!(plain(name), expected);
        }
    }

    #[test]
    fn the_library_is_asked_until_there_are_no_more() {
        let calls = Calls::named(|domain, cbid| match (domain, cbid) {
            (Domain::Runtime, 3) => Some("cudaGetDevice_v3020".into()),
            (Domain::Runtime, 60) => Some("cudaLaunchKernel_v7000".into()),
            (Domain::Driver, 7) => Some("cuCtxSynchronize".into()),
            (Domain::Driver, 500) => Some("cuLaunchKernel".into()),
            _ => None,
        });
        assert_eq!(calls.launches().collect::<Vec<_>>(), [(Domain::Runtime, 60)], "500 is behind a hole that is too long");
        let recorded = |which| calls.recorded(which).collect::<Vec<_>>();
        assert_eq!(recorded(ApiCalls::Relevant), [(Domain::Driver, 7), (Domain::Runtime, 60)]);
        assert_eq!(recorded(ApiCalls::All), [(Domain::Driver, 7), (Domain::Runtime, 3), (Domain::Runtime, 60)]);
        assert_eq!(recorded(ApiCalls::None), []);
        let name = |which, cbid| calls.name(which, Domain::Runtime, cbid);
        assert_eq!(name(ApiCalls::Relevant, 60).as_deref(), Some("cudaLaunchKernel"));
        assert_eq!((name(ApiCalls::Relevant, 3), name(ApiCalls::Relevant, 9)), (None, None));
        assert_eq!(name(ApiCalls::All, 9).as_deref(), Some("call 9"));
    }
}
