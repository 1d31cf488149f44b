//! What a test may need that not every machine has: a closed list, with the names by which a machine is held to having it.
//!
//! `RANKSCOPE_REQUIRE=corpus,etcd` says that the machine has these, so that a test which does not find one fails instead of being
//! skipped. The list refuses other names: a requirement with a typing error would require nothing.

use std::fmt;
use std::str::FromStr;

/// The variable that lists what must not be missing, separated by commas.
pub const REQUIRE: &str = "RANKSCOPE_REQUIRE";

/// Something a test needs and a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Need {
    /// The corpus of public traces, in the folder that `RANKSCOPE_CORPUS` names.
    Corpus,
    /// The server of etcd.
    Etcd,
    /// Open MPI's `mpirun`.
    Mpi,
    /// `python3`, bare.
    Python,
    /// Python with orjson: `RANKSCOPE_PYTHON`, or `python3` where it has it.
    Orjson,
    /// Python with torch: `RANKSCOPE_TORCH_PYTHON`.
    Torch,
    /// Python with JAX: `RANKSCOPE_JAX_PYTHON`.
    Jax,
    /// Python with Holistic Trace Analysis: `RANKSCOPE_HTA_PYTHON`.
    Hta,
    /// Python with XProf: `RANKSCOPE_XPROF_PYTHON`.
    Xprof,
    /// Python with Ray: `RANKSCOPE_RAY_PYTHON`.
    Ray,
    /// Python with kubernetes-validate: `RANKSCOPE_KUBERNETES_PYTHON`.
    Kubernetes,
    /// Slurm with munge, and root to start its daemons.
    Slurm,
    /// Perfetto's engine in the folder that `RANKSCOPE_TRACE_PROCESSOR` names, and Node to run it.
    Perfetto,
    /// `s3s-fs`, an object store: `RANKSCOPE_S3_SERVER`, or on `PATH`.
    S3Server,
    /// Node.js as `node`.
    Node,
    /// Chromium, to open pages in.
    Chromium,
    /// typescript and axe-core of npm, in the folder that `RANKSCOPE_NODE_MODULES` names.
    NodeModules,
    /// LibreOffice as `soffice`.
    LibreOffice,
    /// Python with pandas and openpyxl: `RANKSCOPE_PANDAS_PYTHON`, or `python3` where it has them.
    Pandas,
    /// Python with duckdb, pyarrow, polars and pandas: `RANKSCOPE_DATASET_PYTHON`.
    DatasetReaders,
    /// The SQL engine of `rankscope query`, the program that `RANKSCOPE_SQL_ENGINE` names.
    SqlEngine,
    /// Pages of real jobs, in the folder that `RANKSCOPE_PAGES` names.
    Pages,
    /// A C compiler called `cc` and a C++ compiler called `c++`.
    Compiler,
    /// Valgrind, for programs in C.
    Valgrind,
    /// The thread sanitizer of that compiler, and a kernel under which it runs.
    Sanitizer,
    /// NVIDIA's compiler of kernels at run time.
    Nvrtc,
    /// NCCL's library, `libnccl.so.2` of `pip install nvidia-nccl-cu13`: `RANKSCOPE_NCCL_LIBRARY`.
    Nccl,
    /// CUPTI's libraries, as `pip install --target` of nvidia-cuda-cupti and nvidia-cuda-cupti-cu12 leaves them, anywhere in the folder that
    /// `RANKSCOPE_CUPTI_WHEELS` names.
    Cupti,
    /// NVIDIA GPUs with their driver.
    Cuda,
    /// The right to mount file systems.
    Mount,
    /// `script` of util-linux, which opens a terminal.
    Terminal,
    /// A user who may not write everywhere: anybody but root.
    PlainUser,
}

impl Need {
    /// All of them.
    pub const ALL: [Self; 32] = [
        Self::Corpus,
        Self::Etcd,
        Self::Mpi,
        Self::Python,
        Self::Orjson,
        Self::Torch,
        Self::Jax,
        Self::Hta,
        Self::Xprof,
        Self::Ray,
        Self::Kubernetes,
        Self::Slurm,
        Self::Perfetto,
        Self::S3Server,
        Self::Node,
        Self::Chromium,
        Self::NodeModules,
        Self::LibreOffice,
        Self::Pandas,
        Self::DatasetReaders,
        Self::SqlEngine,
        Self::Pages,
        Self::Compiler,
        Self::Valgrind,
        Self::Sanitizer,
        Self::Nvrtc,
        Self::Nccl,
        Self::Cupti,
        Self::Cuda,
        Self::Mount,
        Self::Terminal,
        Self::PlainUser,
    ];

    /// Its name in `RANKSCOPE_REQUIRE` and in what is counted.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Corpus => "corpus",
            Self::Etcd => "etcd",
            Self::Mpi => "mpi",
            Self::Python => "python",
            Self::Orjson => "orjson",
            Self::Torch => "torch",
            Self::Jax => "jax",
            Self::Hta => "hta",
            Self::Xprof => "xprof",
            Self::Ray => "ray",
            Self::Kubernetes => "kubernetes",
            Self::Slurm => "slurm",
            Self::Perfetto => "perfetto",
            Self::S3Server => "s3-server",
            Self::Node => "node",
            Self::Chromium => "chromium",
            Self::NodeModules => "node-modules",
            Self::LibreOffice => "libreoffice",
            Self::Pandas => "pandas",
            Self::DatasetReaders => "dataset-readers",
            Self::SqlEngine => "sql-engine",
            Self::Pages => "pages",
            Self::Compiler => "compiler",
            Self::Valgrind => "valgrind",
            Self::Sanitizer => "sanitizer",
            Self::Nvrtc => "nvrtc",
            Self::Nccl => "nccl",
            Self::Cupti => "cupti",
            Self::Cuda => "cuda",
            Self::Mount => "mount",
            Self::Terminal => "terminal",
            Self::PlainUser => "plain-user",
        }
    }

    /// The variable that names the folder or program, where nothing else does.
    pub const fn variable(self) -> Option<&'static str> {
        match self {
            Self::Corpus => Some("RANKSCOPE_CORPUS"),
            Self::Torch => Some("RANKSCOPE_TORCH_PYTHON"),
            Self::Jax => Some("RANKSCOPE_JAX_PYTHON"),
            Self::Hta => Some("RANKSCOPE_HTA_PYTHON"),
            Self::Xprof => Some("RANKSCOPE_XPROF_PYTHON"),
            Self::Ray => Some("RANKSCOPE_RAY_PYTHON"),
            Self::Kubernetes => Some("RANKSCOPE_KUBERNETES_PYTHON"),
            Self::Perfetto => Some("RANKSCOPE_TRACE_PROCESSOR"),
            Self::DatasetReaders => Some("RANKSCOPE_DATASET_PYTHON"),
            Self::SqlEngine => Some("RANKSCOPE_SQL_ENGINE"),
            Self::Pages => Some("RANKSCOPE_PAGES"),
            Self::Nccl => Some("RANKSCOPE_NCCL_LIBRARY"),
            Self::Cupti => Some("RANKSCOPE_CUPTI_WHEELS"),
            Self::NodeModules => Some("RANKSCOPE_NODE_MODULES"),
            Self::S3Server => Some("RANKSCOPE_S3_SERVER"),
            _ => None,
        }
    }

    /// The needs in a list as `RANKSCOPE_REQUIRE` holds it; spaces and empty places are nothing.
    ///
    /// # Errors
    /// [`UnknownNeed`] for the first name that is none.
    pub fn list(text: &str) -> Result<Vec<Self>, UnknownNeed> {
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::parse).collect()
    }
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Need {
    type Err = UnknownNeed;

    fn from_str(text: &str) -> Result<Self, UnknownNeed> {
        Self::ALL.into_iter().find(|need| need.name() == text).ok_or_else(|| UnknownNeed(text.to_owned()))
    }
}

/// A name in `RANKSCOPE_REQUIRE` that stands for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownNeed(String);

impl fmt::Display for UnknownNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Need::ALL.map(Need::name).join(", ");
        write!(f, "{REQUIRE} lists {:?}, which no test needs; the names are {names}", self.0)
    }
}

impl std::error::Error for UnknownNeed {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_need_is_found_by_its_name() {
        let all = Need::ALL.map(Need::name).join(",");
        assert_eq!(Need::list(&all), Ok(Need::ALL.to_vec()));
        assert_eq!(Need::list(" mpi,, etcd "), Ok(vec![Need::Mpi, Need::Etcd]));
        assert_eq!(Need::list(""), Ok(Vec::new()));
    }

    #[test]
    fn a_name_that_stands_for_nothing_is_refused() {
        let error = Need::list("corpus,ectd").unwrap_err().to_string();
        assert!(error.contains("\"ectd\"") && error.contains("etcd"), "{error}");
    }
}
