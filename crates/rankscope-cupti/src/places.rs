//! Where CUPTI may lie.
//!
//! One that the process has loaded already comes before all, even before what the user names: two copies in one process cannot both
//! subscribe. Then what the user names, what lies beside other libraries of CUDA that are loaded, the Python environment, the toolkit,
//! and the loader's own paths. Nothing is loaded here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rankscope_devices::{file_name, mapped_files};

/// The variable that names the library.
pub(crate) const LIBRARY: &str = "RANKSCOPE_CUPTI_LIBRARY";

/// Files to be tried, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// Loaded already.
    pub(crate) mapped: Vec<PathBuf>,
    /// Not loaded yet, as far as is known.
    pub(crate) others: Vec<PathBuf>,
}

/// Names of the library, the newest that fits the driver first.
fn file_names(driver_version: Option<u32>) -> [&'static str; 3] {
    match driver_version {
        Some(version) if version < 13_000 => ["libcupti.so.12", "libcupti.so.13", "libcupti.so"],
        _ => ["libcupti.so.13", "libcupti.so.12", "libcupti.so"],
    }
}

impl Places {
    /// Those of this process. With `named` no other is looked for, but one that is mapped.
    pub(crate) fn of_process(named: Option<PathBuf>, driver_version: Option<u32>) -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let named = named.or_else(|| variable(LIBRARY));
        Self::of(&mapped_files(), named, driver_version, variable)
    }

    fn of(
        mapped: &[PathBuf],
        named: Option<PathBuf>,
        driver_version: Option<u32>,
        variable: impl Fn(&str) -> Option<PathBuf>,
    ) -> Self {
        let is_cupti = |path: &&PathBuf| file_name(path).starts_with("libcupti.so");
        let already = mapped.iter().filter(is_cupti).cloned().collect();
        if let Some(named) = named {
            return Self { mapped: already, others: vec![named] };
        }
        let names = file_names(driver_version);
        let folders = beside(mapped).chain(of_environment(variable)).chain([PathBuf::from(TOOLKIT).join(EXTRAS)]);
        let mut others: Vec<PathBuf> = Vec::new();
        for folder in folders {
            others.extend(names.iter().map(|name| folder.join(name)).filter(|path| path.exists()));
        }
        // By name alone: the loader knows more paths than anybody else.
        others.extend(names.map(PathBuf::from));
        Self { mapped: already, others }
    }
}

/// Where the toolkit is installed by itself, and where CUPTI is in it.
const TOOLKIT: &str = "/usr/local/cuda";
const EXTRAS: &str = "extras/CUPTI/lib64";

/// Where packages of Python have it, below `nvidia`: of CUDA 13 all libraries lie together, of CUDA 12 each by itself.
const IN_PACKAGES: [&str; 2] = ["cu13/lib", "cuda_cupti/lib"];

/// In the packages from which other libraries of CUDA were loaded.
fn beside(mapped: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let roots = mapped.iter().flat_map(|path| path.ancestors()).filter(|folder| file_name(folder) == "nvidia");
    let roots: BTreeSet<&Path> = roots.collect();
    let folders: Vec<PathBuf> = roots.iter().flat_map(|root| IN_PACKAGES.map(|folder| root.join(folder))).collect();
    folders.into_iter()
}

/// In the Python environment and the toolkit that variables name.
fn of_environment(variable: impl Fn(&str) -> Option<PathBuf>) -> impl Iterator<Item = PathBuf> {
    let pythons = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| variable(name));
    let packages = pythons.flat_map(|root| {
        let mut versions: Vec<PathBuf> = fs::read_dir(root.join("lib"))
            .map_or_else(|_| Vec::new(), |entries| entries.flatten().map(|entry| entry.path()).collect());
        versions.retain(|path| file_name(path).starts_with("python3"));
        versions.sort();
        let inside = versions.into_iter().map(|python| python.join("site-packages/nvidia"));
        let folders: Vec<PathBuf> = inside.flat_map(|root| IN_PACKAGES.map(|folder| root.join(folder))).collect();
        folders.into_iter().chain([root.join("lib")])
    });
    let packages: Vec<PathBuf> = packages.collect();
    let toolkits: Vec<PathBuf> =
        ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(|name| variable(name)).map(|root| root.join(EXTRAS)).collect();
    packages.into_iter().chain(toolkits)
}

#[cfg(test)]
mod tests {
    use rankscope_devices::mapped_in;

    use super::*;

    const MAPS: &str = "\
7f00-7f10 r-xp 00000000 08:01 11 /venv/lib/python3.12/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12
7f10-7f20 r--p 00010000 08:01 11 /venv/lib/python3.12/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12
7f20-7f30 r-xp 00000000 08:01 12 /opt/a b/libcupti.so.12
7f30-7f40 rw-p 00000000 00:00 0 [heap]
";

    #[test]
    fn one_that_is_loaded_comes_first_even_before_the_one_that_is_named() {
        let files = mapped_in(MAPS);
        assert_eq!(files.len(), 2);
        let places = Places::of(&files, Some("/mine/libcupti.so".into()), None, |_| None);
        assert_eq!(places.mapped, [PathBuf::from("/opt/a b/libcupti.so.12")]);
        assert_eq!(places.others, [PathBuf::from("/mine/libcupti.so")]);
    }

    #[test]
    fn packages_are_looked_into_before_the_loader_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let touch = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            path
        };
        let beside = touch("venv/nvidia/cuda_cupti/lib/libcupti.so.12");
        let cudart = touch("venv/nvidia/cuda_runtime/lib/libcudart.so.12");
        let conda = touch("conda/lib/python3.11/site-packages/nvidia/cu13/lib/libcupti.so.13");
        let toolkit = touch("toolkit/extras/CUPTI/lib64/libcupti.so");
        let variable = |name: &str| match name {
            "CONDA_PREFIX" => Some(folder.path().join("conda")),
            "CUDA_HOME" => Some(folder.path().join("toolkit")),
            _ => None,
        };
        let others = Places::of(&[cudart], None, Some(12_090), variable).others;
        let others: Vec<PathBuf> = others.into_iter().filter(|path| !path.starts_with(TOOLKIT)).collect();
        let by_name = ["libcupti.so.12", "libcupti.so.13", "libcupti.so"].map(PathBuf::from);
        assert_eq!(others, [vec![beside, conda, toolkit], by_name.to_vec()].concat());
    }

    #[test]
    fn a_driver_of_cuda_12_is_offered_its_own_version_first() {
        assert_eq!(file_names(Some(12_090))[0], "libcupti.so.12");
        assert_eq!(file_names(Some(13_010))[0], "libcupti.so.13");
        assert_eq!(file_names(None)[0], "libcupti.so.13");
    }
}
