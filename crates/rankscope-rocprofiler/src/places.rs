//! Where rocprofiler-sdk may lie, and whether the kernel has a driver at all. Nothing is loaded here.
//!
//! One that the process has loaded already comes before all, even before what the user names: a runtime gives its calls to one copy only.

use std::path::{Path, PathBuf};

use rankscope_devices::{file_name, mapped_files};

use crate::absent::Absent;

/// The variables that name the library, and the driver's file.
const LIBRARY: &str = "RANKSCOPE_ROCPROFILER_LIBRARY";
const DRIVER: &str = "RANKSCOPE_KFD";

/// What the kernel's driver of AMD's GPUs is reached through.
const KFD: &str = "/dev/kfd";

/// Names of the library, what is read first.
const FILES: [&str; 2] = ["librocprofiler-sdk.so.1", "librocprofiler-sdk.so"];

/// Where ROCm is installed by itself.
const ROCM: &str = "/opt/rocm";

/// Files to be tried, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Loaded already.
    pub(crate) mapped: Vec<PathBuf>,
    /// Not loaded yet, as far as is known.
    pub(crate) others: Vec<PathBuf>,
}

impl Places {
    /// Those of this process. With `named` no other is looked for, but one that is mapped.
    pub(crate) fn of_process(named: Option<PathBuf>) -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self::of(&mapped_files(), named.or_else(|| variable(LIBRARY)), variable("ROCM_PATH"))
    }

    /// Those that are loaded already.
    pub(crate) fn mapped() -> Self {
        Self { others: Vec::new(), ..Self::of(&mapped_files(), None, None) }
    }

    fn of(mapped: &[PathBuf], named: Option<PathBuf>, rocm: Option<PathBuf>) -> Self {
        // Others of its family are called `librocprofiler-sdk-tool.so` and the like.
        let mapped = mapped.iter().filter(|path| file_name(path).starts_with("librocprofiler-sdk.so")).cloned().collect();
        if let Some(named) = named {
            return Self { mapped, others: vec![named] };
        }
        let folder = rocm.unwrap_or_else(|| ROCM.into()).join("lib");
        let installed = FILES.map(|name| folder.join(name)).into_iter().filter(|path| path.exists());
        // By name alone: the loader knows more paths than anybody else.
        Self { mapped, others: installed.chain(FILES.map(PathBuf::from)).collect() }
    }
}

/// Whether the kernel has a driver of AMD's GPUs, without which nothing is loaded.
///
/// # Errors
/// It has none.
pub(crate) fn driver(named: Option<PathBuf>) -> Result<(), Absent> {
    let file = named.or_else(|| std::env::var_os(DRIVER).map(PathBuf::from)).unwrap_or_else(|| KFD.into());
    let found = std::fs::metadata(&file).map(|_| ());
    found.map_err(|error| Absent::NoDriver { file: file.to_string_lossy().into_owned(), said: error.to_string() })
}

/// Whether a runtime of ROCm's is mapped: HIP's, or HSA's below it.
pub(crate) fn has_runtime(mapped: &[PathBuf]) -> bool {
    let is_runtime =
        |path: &Path| ["libamdhip64.so", "libhsa-runtime64.so"].iter().any(|name| file_name(path).starts_with(name));
    mapped.iter().any(|path| is_runtime(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_loaded_comes_first_even_before_the_one_that_is_named() {
        let files = ["/x/librocprofiler-sdk-tool.so.1", "/x/librocprofiler-sdk.so.1.0.0", "/x/libc.so.6"].map(PathBuf::from);
        let places = Places::of(&files, Some("/mine/librocprofiler-sdk.so".into()), None);
        assert_eq!(places.mapped, [PathBuf::from("/x/librocprofiler-sdk.so.1.0.0")]);
        assert_eq!(places.others, [PathBuf::from("/mine/librocprofiler-sdk.so")]);
    }

    #[test]
    fn the_folder_of_rocm_is_looked_into_before_the_loader_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lib").join(FILES[1]);
        std::fs::create_dir(folder.path().join("lib")).unwrap();
        std::fs::write(&file, "").unwrap();
        let places = Places::of(&[], None, Some(folder.path().into()));
        assert_eq!(places.others, [file, FILES[0].into(), FILES[1].into()]);
    }

    #[test]
    fn a_runtime_is_known_by_its_file() {
        assert!(has_runtime(&["/opt/rocm/lib/libamdhip64.so.7.0.1".into()]));
        assert!(!has_runtime(&["/opt/rocm/lib/librocprofiler-sdk.so.1".into()]));
    }
}
