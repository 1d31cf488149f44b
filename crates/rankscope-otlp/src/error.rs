//! Why figures cannot be sent to where somebody wants them.

/// What is wrong with a place, or with a variable of the environment. Values of headers are never repeated.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is no URL of a web server.
    #[error("{place:?} is no address of a collector. Give http://HOST:PORT")]
    NoUrl {
        /// As given.
        place: String,
    },
    /// It names somebody and perhaps a password, which a command line shows to everybody.
    #[error(
        "the address of the collector has a name or password in it, which others can read. \
         Put it into OTEL_EXPORTER_OTLP_HEADERS, as Authorization=Basic%20..."
    )]
    Credentials,
    /// This build cannot encrypt.
    #[error(
        "{place}: this build sends figures to http:// only. Send to a collector on this network, or build with what encrypts: \
         cargo install --path crates/rankscope --features store"
    )]
    NoTls {
        /// As given.
        place: String,
    },
    /// A variable of the environment is not understood.
    #[error("{name}: {problem}")]
    Variable {
        /// Its name.
        name: &'static str,
        /// What is wrong with it.
        problem: &'static str,
    },
}
