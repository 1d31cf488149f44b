//! An error as one paragraph: what failed, where, why, and what to do where the system's reason says it.

use std::error::Error;
use std::io::{self, ErrorKind};

use anyhow::Chain;

/// What `error` and its causes say, each once: a cause that the sentence before it ends with is not said again.
pub(crate) fn told(error: &anyhow::Error) -> String {
    told_of(error.as_ref())
}

/// The same of an error that says what kind it is.
pub(crate) fn told_of(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    for cause in Chain::new(error).map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if text.ends_with(&cause) {
            continue;
        }
        text = if text.is_empty() { cause } else { format!("{text}: {cause}") };
    }
    let root = Chain::new(error).last();
    let reason = root.and_then(|root| root.downcast_ref::<io::Error>()).filter(|error| error.raw_os_error().is_some());
    match reason.and_then(|error| advice(error.kind())) {
        Some(advice) => format!("{text}. {advice}"),
        None => text,
    }
}

fn advice(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::NotFound => Some("Check the path"),
        ErrorKind::PermissionDenied => Some("Check its owner and permissions, and those of its folder"),
        ErrorKind::IsADirectory => Some("This must be a file: name one in this directory"),
        ErrorKind::NotADirectory => Some("Part of this path is a file where a directory is needed"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some("Free space there, or write elsewhere"),
        ErrorKind::ReadOnlyFilesystem => Some("Write elsewhere"),
        ErrorKind::FileTooLarge => Some("A file size limit is set (ulimit -f): raise it"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    /// As libraries have them: what it says ends with its source, which it also names.
    #[derive(Debug)]
    struct AndItsSource(io::Error);

    impl std::fmt::Display for AndItsSource {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "file: {}", self.0)
        }
    }

    impl std::error::Error for AndItsSource {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_cause_is_told_once_and_with_what_to_do() {
        let missing = || io::Error::from_raw_os_error(2);
        let error = anyhow::Error::from(AndItsSource(missing()));
        assert_eq!(told(&error), "file: No such file or directory (os error 2). Check the path");
        let error = Err::<(), _>(missing()).context("plan.json").context("dispatch").unwrap_err();
        assert_eq!(told(&error), "dispatch: plan.json: No such file or directory (os error 2). Check the path");
        assert_eq!(told(&anyhow::anyhow!("no such rank")), "no such rank");
    }
}
