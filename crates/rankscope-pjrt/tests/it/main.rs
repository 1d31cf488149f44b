//! The library as jaxlib meets it: loaded by a program in C that plays its calls, and by jaxlib itself where that is there.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod forward;
mod jax;
mod played;
mod scenes;
