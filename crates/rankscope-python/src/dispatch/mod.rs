//! `rankscope.dispatch` for Python: DistCA's functions on arrays, plans, and what a rank needs to execute one. It translates; names for
//! users and their documentation are in `python/rankscope/dispatch`.

mod array;
mod case;
mod distca;
mod dlpack;
mod errors;
mod layout;
mod network;
mod pickled;
mod plan;
mod rank;
mod read;

use pyo3::prelude::*;

/// The submodule `rankscope._native.dispatch`.
#[pymodule(submodule)]
pub(crate) mod dispatch {
    #[pymodule_export]
    use super::array::Array;
    #[pymodule_export]
    use super::case::{answer, check, kinds};
    #[pymodule_export]
    use super::distca::{
        compute_attn_layout_seqlens, compute_metadata, compute_metadata_kv, create_qkv_dispatch,
        create_qkv_dispatch_with_custom_mapping, gen_seq_lens, normalize_dtype,
    };
    #[pymodule_export]
    use super::layout::{layout_documents, layout_shards, layout_zigzag};
    #[pymodule_export]
    use super::pickled::unpickled_array;
    #[pymodule_export]
    use super::plan::{Plan, read_plan};
    #[pymodule_export]
    use super::read::as_array;
}
