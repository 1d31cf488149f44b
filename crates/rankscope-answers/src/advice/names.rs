//! What names say: which spans of the host load batches, collect garbage, compile.
//!
//! Frameworks and users call these by a few words. A name that has none of them is taken for what it is and no more.

const LOADER: &[&str] = &[
    "dataloader",
    "data_loader",
    "data loader",
    "data_loading",
    "data loading",
    "load_batch",
    "load batch",
    "next_batch",
    "next batch",
    "get_batch",
    "fetch_batch",
    "batch loading",
    "input_pipeline",
    "input pipeline",
    "dataset",
];

const GARBAGE: &[&str] = &["gc.collect", "function collect>", "garbage", "gc_collect", "gc pause"];

const COMPILING: &[&str] = &["compile", "autotun", "torch-compiled region", "cudagraph_capture"];

const CHECKPOINT: &[&str] = &["checkpointfunctionbackward", "recompute", "rematerializ"];

fn has_any(name: &str, words: &[&str]) -> bool {
    let name = name.to_lowercase();
    words.iter().any(|word| name.contains(word))
}

/// Whether the name, or where it is, is that of a data loader.
pub(super) fn is_loader(name: &str, place: &str) -> bool {
    has_any(name, LOADER) || has_any(place, LOADER)
}

/// Whether it is the garbage collector's.
pub(super) fn is_garbage(name: &str, place: &str) -> bool {
    name == "gc" || has_any(name, GARBAGE) || has_any(place, GARBAGE)
}

/// Whether it compiles or tunes.
pub(super) fn is_compiling(name: &str, place: &str) -> bool {
    has_any(name, COMPILING) || has_any(place, COMPILING)
}

/// Whether it computes again what a checkpoint threw away.
pub(super) fn is_recompute(name: &str, place: &str) -> bool {
    has_any(name, CHECKPOINT) || has_any(place, CHECKPOINT)
}

/// Whether it is a call that copies, and may wait for the copy.
pub(super) fn is_copying(name: &str) -> bool {
    name.contains("Memcpy")
}

/// Whether a copy is from or to memory of the host that is not pinned.
pub(super) fn is_pageable(name: &str) -> bool {
    name.contains("Pageable")
}

/// Whether an operator's work grows with the data of its rank and not with the model: attention and experts.
pub(super) fn is_of_data(name: &str, place: &str) -> bool {
    has_any(name, &["attention", "attn", "expert", "moe", "varlen", "grouped_mm", "embedding_bag"])
        || has_any(place, &["attention", "attn", "expert", "moe"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_go_by_their_words() {
        assert!(is_loader("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", ""));
        assert!(is_loader("load batch", "") && is_loader("data_loading", ""));
        assert!(is_loader("<built-in function sleep>", "data_loader.py(20): __next__"));
        assert!(!is_loader("aten::mm", "model.py(3): forward") && !is_loader("cudaLaunchKernel", ""));
    }

    #[test]
    fn collecting_is_not_collective() {
        assert!(is_garbage("<built-in function collect>", "") && is_garbage("gc", ""));
        assert!(!is_garbage("nccl:collective", "") && !is_garbage("collect_metrics", ""));
    }
}
