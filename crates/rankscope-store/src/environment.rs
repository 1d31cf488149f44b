//! What the environment says of credentials, without looking at what they are: which remedy a message names.

use std::env;

use rankscope_run::{Remedy, Scheme};

/// Whether a variable is set to anything.
pub(crate) fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Whether a variable says yes.
pub(crate) fn is_true(name: &str) -> bool {
    env::var(name).is_ok_and(|value| ["1", "true", "yes", "on"].contains(&value.to_ascii_lowercase().as_str()))
}

/// What to do about credentials for stores of this kind.
pub(crate) fn remedy(scheme: Scheme) -> Remedy {
    match scheme {
        Scheme::S3 if !is_set("AWS_ACCESS_KEY_ID") && has_profile() => Remedy::AwsProfile,
        Scheme::S3 => Remedy::Aws,
        Scheme::Gcs => Remedy::Gcp,
        Scheme::Azure => Remedy::Azure,
        _ => Remedy::Http,
    }
}

/// Whether the user set up Amazon's command line, whose profiles and logins are not read.
fn has_profile() -> bool {
    let in_home = |name: &str| env::home_dir().is_some_and(|home| home.join(".aws").join(name).is_file());
    is_set("AWS_PROFILE") || in_home("config") || in_home("credentials")
}

/// Whether a profile is the only thing that was said of credentials: then the machine's own role is not what was meant.
pub(crate) fn has_only_profile() -> bool {
    const OTHERS: [&str; 5] = [
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_SKIP_SIGNATURE",
    ];
    is_set("AWS_PROFILE") && !OTHERS.into_iter().any(is_set)
}

/// The variable that allows what is not encrypted, where an endpoint asks for that in vain.
pub(crate) fn wants_plain_http(scheme: Scheme) -> Option<&'static str> {
    let (endpoints, allows): (&[&str], _) = match scheme {
        Scheme::S3 => (&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"], "AWS_ALLOW_HTTP"),
        Scheme::Azure => (&["AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"], "AZURE_ALLOW_HTTP"),
        _ => return None,
    };
    let endpoint = endpoints.iter().find_map(|name| env::var(name).ok());
    (endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) && !is_true(allows)).then_some(allows)
}
