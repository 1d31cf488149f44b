//! An error as one paragraph: what failed, where, why, and what to do where the system's reason says it.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::iter::successors;

/// What `error` and its causes say, each once: a cause that the sentence before it ends with is not said again.
pub fn told(error: &(dyn Error + 'static)) -> String {
    let chain = || successors(Some(error), |&error| error.source());
    let mut text = String::new();
    for cause in chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if text.ends_with(&cause) {
            continue;
        }
        text = if text.is_empty() { cause } else { format!("{text}: {cause}") };
    }
    let root = chain().last();
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
    use super::*;

    /// As libraries have them: what it says ends with its source, which it also names.
    #[derive(Debug, thiserror::Error)]
    #[error("file: {0}")]
    struct AndItsSource(#[source] io::Error);

    /// One that says only where.
    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Where(&'static str, #[source] Box<dyn Error>);

    #[test]
    fn a_cause_is_told_once_and_with_what_to_do() {
        let missing = || io::Error::from_raw_os_error(2);
        let error = AndItsSource(missing());
        assert_eq!(told(&error), "file: No such file or directory (os error 2). Check the path");
        let error = Where("dispatch", Box::new(Where("plan.json", missing().into())));
        assert_eq!(told(&error), "dispatch: plan.json: No such file or directory (os error 2). Check the path");
        assert_eq!(told(&Where("here", "no such rank".into())), "here: no such rank");
    }
}
