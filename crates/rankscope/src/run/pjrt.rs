//! What a job is told so that its hooks hand our profiler to JAX, where it lies beside the binary: a variable, no change to the job.

use std::path::Path;

use super::beside;

/// The library's file.
const FILE: &str = "librankscope_pjrt.so";
/// Where the hooks and `rankscope.jax.install()` look for it.
pub(super) const LIBRARY: &str = "RANKSCOPE_PJRT_LIBRARY";

/// What the job is told, where the binary is `program`: nothing where the user has said something, be it that none is wanted.
pub(super) fn told(program: &Path, is_said: bool) -> Option<(String, String)> {
    let library = beside(program, FILE).filter(|_| !is_said)?;
    Some((LIBRARY.to_owned(), library.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_found_beside_the_program_or_among_its_libraries() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        let program = bin.join("rankscope");
        assert_eq!(told(&program, false), None);
        for place in ["lib", "bin"] {
            let place = folder.path().join(place);
            std::fs::create_dir(&place).unwrap();
            std::fs::write(place.join(FILE), "").unwrap();
        }
        let beside = bin.join(FILE).to_string_lossy().into_owned();
        assert_eq!(told(&program, false), Some((LIBRARY.to_owned(), beside)));
        assert_eq!(told(&program, true), None);
        std::fs::remove_file(bin.join(FILE)).unwrap();
        assert!(told(&program, false).is_some_and(|(_, path)| path.ends_with("bin/../lib/librankscope_pjrt.so")));
    }
}
