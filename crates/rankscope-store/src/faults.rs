//! What a store's answer means for a user. The client's own errors hold addresses, and bodies that repeat keys and signatures: of all
//! that only the store's short word for the fault is kept.

use object_store::Error;
use rankscope_run::{ObjectUrl, StoreFault};

use crate::environment::remedy;

/// What `error` means, which came of a request about `url`.
pub(crate) fn fault(error: &Error, url: &ObjectUrl) -> StoreFault {
    let said = error.to_string();
    let code = code(&said).or_else(|| status(&said));
    let remedy = remedy(url.scheme());
    let word = || code.clone().unwrap_or_else(|| "no reason given".to_owned());
    let is = |codes: &[&str]| code.as_deref().is_some_and(|code| codes.contains(&code));
    match error {
        _ if is(&EXPIRED) => StoreFault::Expired { code: word(), remedy },
        _ if is(&NO_BUCKET) || said.contains("bucket does not exist") => StoreFault::NoSuchBucket { bucket: bucket(url) },
        _ if is(&OTHER_REGION) || said.contains("incorrectly configured region") => StoreFault::Settings {
            reason: "the bucket lies in another region. Set AWS_REGION to that of the bucket".to_owned(),
        },
        Error::NotFound { .. } => StoreFault::NoSuchObject,
        Error::Precondition { .. } => StoreFault::Changed,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => StoreFault::Refused { code: word(), remedy },
        _ if is(&REFUSED) => StoreFault::Refused { code: word(), remedy },
        _ if METADATA.iter().any(|address| said.contains(address)) => StoreFault::NoCredentials { remedy },
        Error::Generic { .. } if code.is_none() => network_or_other(error),
        _ => StoreFault::Failed { reason: word() },
    }
}

/// Credentials that were good once.
const EXPIRED: [&str; 4] = ["ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired"];
const NO_BUCKET: [&str; 2] = ["NoSuchBucket", "ContainerNotFound"];
const OTHER_REGION: [&str; 3] = ["PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"];
/// What is refused with another number than the usual one.
const REFUSED: [&str; 4] = ["AccessDenied", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"];

/// Where clouds give the machine's own credentials: nobody is there on other machines, and then there were no credentials at all.
const METADATA: [&str; 3] = ["169.254.", "metadata.google.internal", "GOOGLE_APPLICATION_CREDENTIALS"];

/// The innermost cause, which names no address.
fn network_or_other(error: &Error) -> StoreFault {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    let mut is_of_network = false;
    while let Some(inner) = cause.source() {
        cause = inner;
        is_of_network |= cause.downcast_ref::<reqwest::Error>().is_some();
    }
    let reason = cause.to_string();
    match is_of_network || cause.downcast_ref::<std::io::Error>().is_some() {
        true => StoreFault::Unreachable { reason },
        false => StoreFault::Failed { reason: reason.split("://").next().unwrap_or_default().to_owned() },
    }
}

/// The store's short word in the body of its answer: XML's `Code`, or the message of Google's JSON.
fn code(said: &str) -> Option<String> {
    let (_, from) = said.split_once("<Code>")?;
    let (code, _) = from.split_once("</Code>")?;
    Some(code.trim().to_owned())
        .filter(|code| code.len() <= CODE_MAX && code.chars().all(|c| c.is_ascii_alphanumeric() || c == '.'))
}

/// Longer words are no codes.
const CODE_MAX: usize = 64;

/// The number of the answer, where it has one.
fn status(said: &str) -> Option<String> {
    let (_, from) = said.split_once("status code: ")?;
    let number = from.get(..3).filter(|number| number.chars().all(|digit| digit.is_ascii_digit()))?;
    Some(format!("HTTP {number}"))
}

/// The bucket in `url`.
fn bucket(url: &ObjectUrl) -> String {
    url.as_str().split('/').nth(2).unwrap_or_default().to_owned()
}
