//! The kinds of cases: a name, what it is, and its inputs. The names are those of DistCA's functions where there is one.

use std::fmt::Write as _;

use super::error::{Error, Result};
use super::{Case, Object, Way, bytes, functions, lengths, logical, planners, whole};

/// Answers a case of one kind.
type Answer = fn(&Case, Way) -> Result<Object>;

/// A function that can be asked for.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub line: &'static str,
    /// What it takes.
    pub inputs: &'static [Input],
    pub(super) answer: Answer,
}

/// An input: its names, the first being the one to use, and what it is. Those that may be missing say what is taken then.
pub struct Input(pub &'static [&'static str], pub &'static str);

const WORLD_SIZE: Input = Input(&["world_size"], "ranks (W)");
const TOTAL: Input = Input(&["total_seq_len"], "tokens on each rank");
const NUM_SEQS: Input = Input(&["num_seqs"], "sequences on each rank (S)");
const DEGREE: Input = Input(&["max_cp_degree"], "most shards of a sequence (C)");
const SEED: Input = Input(&["seed"], "names torch's stream");
const SEQ_LENS: Input = Input(&["seq_lens"], "[W, S] lengths to take in place of the drawn ones; may be missing");
pub(super) const HIDDEN_Q: Input = Input(&["hidden_q", "hq"], "elements of a query row");
pub(super) const HIDDEN_KV: Input = Input(&["hidden_k", "hidden_kv", "hk"], "elements of a key row");
pub(super) const ELEMENT: Input = Input(&["element_size", "element_bytes", "es"], "bytes of an element");
pub(super) const LSE: Input =
    Input(&["lse_size", "lse_size_elems", "lse"], "elements of log-sum-exp beside an output row; else 0");
const METADATA: Input = Input(&["metadata"], "an object with the arrays of a Metadata: `fwd` or `rev` of another answer");
const CASES: Input = Input(&["cases"], "a list of such cases in place of the other inputs");
const FA2A: Input = Input(&["fa2a_inputs"], "`hq`, `hk`, `es`, `lse`: adds the bytes, as hashes; may be missing");

const SEEDED: &[Input] = &[WORLD_SIZE, TOTAL, NUM_SEQS, DEGREE, SEED, SEQ_LENS];
const COMPUTE: &[Input] = &[
    Input(&["seq_len"], "[W, P] tokens of the shard in every slot"),
    Input(&["dispatch"], "[W, P] or [W, P, C] destination of every shard, or of every copy; -1 sends nothing"),
];

/// Every kind there is.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "gen_seq_lens",
        line: "draw lengths of documents",
        inputs: &[
            WORLD_SIZE,
            NUM_SEQS,
            Input(&["total_len"], "tokens on each rank"),
            SEED,
            Input(&["mode"], "\"documented\" (also when missing), or \"valid\": every length is at least 1"),
            CASES,
        ],
        answer: lengths::gen_seq_lens,
    },
    Kind {
        name: "pipeline_tick",
        line: "lengths of a pipeline's tick, and of the backward tick that answers it",
        inputs: &[
            Input(&["new_seq_lens"], "[R, S] lengths of the new microbatch, on the ranks of the first stage"),
            Input(&["previous_seq_lens"], "[W, S] lengths of the tick before"),
        ],
        answer: lengths::pipeline_tick,
    },
    Kind {
        name: "compute_metadata",
        line: "where shards go, and how they come back",
        inputs: COMPUTE,
        answer: logical::compute_metadata,
    },
    Kind {
        name: "compute_metadata_big",
        line: "the same, every array packed, nothing simulated",
        inputs: COMPUTE,
        answer: logical::compute_metadata,
    },
    Kind {
        name: "compute_metadata_kv",
        line: "where the copies of keys and values go, and how their gradients come back",
        inputs: &[
            Input(&["kv_to_q_mapping"], "[W, P, C, 2] rank and slot of the query that every copy serves; -1 is no copy"),
            Input(&["kv_to_q_rank"], "[W, P, C] place of the shard among the keys of that query; -1 is no copy"),
            Input(&["kv_context_size"], "[W, P] tokens of the document before the shard"),
            Input(&["q_to_num_kv_seq"], "[W, P] key shards that the query needs"),
            Input(&["q_to_num_kv_token"], "[W, P] key tokens that the query needs"),
            Input(&["q_dispatch"], "[W, P] destination of the query; -1 sends nothing"),
            Input(&["seq_len", "shard_len"], "[W, P] tokens of the shard in every slot"),
            Input(&["num_seqs", "num_shards"], "[W] slots in use"),
        ],
        answer: logical::compute_metadata_kv,
    },
    Kind {
        name: "compute_attn_layout_seqlens",
        line: "cumulative lengths for variable-length attention",
        inputs: &[
            Input(&["shard_len"], "[W, P] tokens of the shard in every slot"),
            Input(&["shard_cumsum"], "[W, P] key tokens of its task: those of the document up to its end"),
            Input(&["q_dispatch"], "[W, P] the rank of its attention; -1 is padding"),
        ],
        answer: logical::compute_attn_layout_seqlens,
    },
    Kind {
        name: "create_qkv_dispatch",
        line: "draw a whole dispatch and derive everything",
        inputs: SEEDED,
        answer: whole::seeded,
    },
    Kind {
        name: "create_qkv_dispatch_big",
        line: "the same, every array packed",
        inputs: &[WORLD_SIZE, TOTAL, NUM_SEQS, DEGREE, SEED, SEQ_LENS, FA2A],
        answer: whole::seeded,
    },
    Kind {
        name: "create_qkv_dispatch_2cp",
        line: "the same with up to two shards of a sequence on a rank; max_cp_degree is 2W",
        inputs: SEEDED,
        answer: whole::seeded_2cp,
    },
    Kind {
        name: "create_qkv_dispatch_with_backward",
        line: "a dispatch, and an independent one for the backward pass",
        inputs: SEEDED,
        answer: whole::with_backward,
    },
    Kind {
        name: "create_qkv_dispatch_with_custom_mapping",
        line: "a dispatch that the inputs spell out",
        inputs: &[
            Input(&["seq_lens"], "[W, S] tokens of every sequence; 0 is no sequence"),
            Input(&["cp_num"], "[W, S] shards of every sequence"),
            Input(&["cp_dst"], "[W, S, C] the rank of every shard's attention; -1 is no shard"),
            Input(&["shard_lens"], "[W, S, C] tokens of every shard; 0 is no shard"),
        ],
        answer: whole::custom_mapping,
    },
    Kind {
        name: "fa2a_from_logical",
        line: "byte offsets of the fused all-to-all, from the arrays of a dispatch",
        inputs: &[
            HIDDEN_Q,
            HIDDEN_KV,
            ELEMENT,
            LSE,
            Input(&["raw"], "`raw` of a create_qkv_dispatch answer; or its inputs:"),
            WORLD_SIZE,
            TOTAL,
            NUM_SEQS,
            DEGREE,
            SEED,
            SEQ_LENS,
        ],
        answer: bytes::fa2a_from_logical,
    },
    Kind {
        name: "from_planner_output",
        line: "byte offsets of the fused all-to-all, from the shards of a planner",
        inputs: &[
            WORLD_SIZE,
            Input(&["docs"], "a list per document, of shards [linear rank, attention rank, position in the document, tokens]"),
            HIDDEN_Q,
            HIDDEN_KV,
            ELEMENT,
            LSE,
            Input(&["is_pipeline_tick"], "true or false (also when missing)"),
            Input(&["is_resend_qkv"], "true or false (also when missing)"),
        ],
        answer: bytes::planner_output,
    },
    Kind {
        name: "orchestrate_simulate",
        line: "move your own tensor as metadata say",
        inputs: &[
            METADATA,
            Input(&["input"], "[W, N, ...] rows by rank and token: nested lists, a .npy file, or a raw file"),
            Input(&["output_tokens"], "tokens of every rank's output; else as many as it takes"),
            Input(&["write_to"], "the file for the output, of an input that is a file: with .npy, or raw"),
        ],
        answer: functions::orchestrate_simulate,
    },
    Kind {
        name: "get_slice",
        line: "what one rank needs of a Metadata",
        inputs: &[METADATA, Input(&["rank"], "0 to W - 1")],
        answer: functions::get_slice,
    },
    Kind {
        name: "normalize_dtype",
        line: "a Metadata in the narrow integers that kernels take",
        inputs: &[METADATA],
        answer: functions::normalize_dtype,
    },
    Kind {
        name: "test_qkv_dispatch",
        line: "create a dispatch, move random tensors there and back, and compare; exit code 3 if they differ",
        inputs: &[
            Input(&["world_size"], "ranks (W); else 2"),
            Input(&["num_seqs"], "sequences on each rank; else 4"),
            Input(&["max_seq_shard"], "most shards of a sequence; else 2"),
            Input(&["num_tokens"], "tokens on each rank; else 1024"),
            Input(&["hidden_size"], "elements of a row; else 128"),
            Input(&["seed"], "names torch's stream; else 0"),
            Input(&["fwd_q"], "metadata of queries to test in place of those created; may be missing"),
            Input(&["rev_q"], "the same of queries on their way back; may be missing"),
            Input(&["fwd_kv"], "the same of keys and values; may be missing"),
            Input(&["rev_kv"], "the same of keys and values on their way back; may be missing"),
        ],
        answer: functions::test_qkv_dispatch,
    },
    Kind {
        name: "greedy_planner",
        line: "the plan of DistCA's planner",
        inputs: &[
            WORLD_SIZE,
            Input(&["batches"], "a list per batch, of lengths of documents"),
            Input(&["tokens_per_rank"], "tokens that a rank takes"),
            Input(&["tolerance"], "how far from the mean a rank may stay, as a fraction of it; else 0.1"),
            CASES,
        ],
        answer: planners::greedy_planner,
    },
    Kind {
        name: "equal_flops_planner",
        line: "the plan of DistCA's older planner",
        inputs: &[Input(&["batches"], "a list per rank, of lengths of documents"), CASES],
        answer: planners::equal_flops_planner,
    },
    Kind {
        name: "planner_benchmark",
        line: "what DistCA's plans and ours move, and how heavy their heaviest rank is",
        inputs: &[
            WORLD_SIZE,
            Input(&["doc_lens"], "lengths of documents"),
            Input(&["tokens_per_rank"], "tokens that a rank takes"),
            Input(&["name"], "repeated in the answer; may be missing"),
            CASES,
        ],
        answer: planners::planner_benchmark,
    },
];

impl Kind {
    /// The kind of this name; `-` and `_` are the same, and so are capitals.
    ///
    /// # Errors
    /// [`Error::UnknownKind`], with the one that was most likely meant.
    pub fn named(name: &str) -> Result<&'static Self> {
        let plain = name.trim().to_lowercase().replace('-', "_");
        KINDS.iter().find(|kind| kind.name == plain).ok_or_else(|| {
            let distance = |kind: &&Self| (strsim::damerau_levenshtein(kind.name, &plain), kind.name);
            let nearest = KINDS.iter().min_by_key(distance).filter(|kind| 2 * distance(kind).0 <= plain.len());
            Error::UnknownKind { name: name.to_owned(), nearest: nearest.map(|kind| kind.name) }
        })
    }

    /// Whether an input goes by this name.
    #[must_use]
    pub fn has_input(&self, name: &str) -> bool {
        self.inputs.iter().any(|input| input.0.contains(&name))
    }
}

/// A line per kind, and one for each of its inputs.
#[must_use]
pub fn list() -> String {
    let mut text = String::new();
    for kind in KINDS {
        let _ = writeln!(text, "{}: {}", kind.name, kind.line);
        for Input(names, what) in kind.inputs {
            let _ = writeln!(text, "    {}: {what}", names.join(" or "));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_however_its_words_are_joined() {
        for name in ["create_qkv_dispatch", "create-qkv-dispatch", "Create_QKV_dispatch"] {
            assert_eq!(Kind::named(name).unwrap().name, "create_qkv_dispatch");
        }
    }

    #[test]
    fn the_nearest_name_is_proposed_and_none_that_is_far_off() {
        let refused = |name| Kind::named(name).err().unwrap().to_string();
        assert!(refused("compute_metadat").contains("(did you mean compute_metadata?)"), "{}", refused("compute_metadat"));
        assert!(!refused("x").contains("did you mean"));
    }
}
