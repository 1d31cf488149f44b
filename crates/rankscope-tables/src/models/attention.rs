//! Attention in one kernel: softmax of queries times keys, times values, for each head.
//!
//! Two products of matrices forward, five backward; the softmax between them is not counted. Where a query sees only the keys before it,
//! half of each product is needed. How that lies where there are not as many keys as queries depends on the kernel, so there is no
//! figure; nor is there one of a sliding window, nor where only some of the keys are used.
//!
//! Sequences of several lengths come one after the other, without a batch. The inputs tell all their tokens and the longest of them, not
//! each length: what is counted is the most that they can take, every token with the longest sequence, causal or not.

mod places;

use self::places::{Causal, Places};
use super::count::{product as times, sum};
use super::inputs::Tensor;
use super::params::{Collected, Params};
use super::{Inputs, Work};

pub(super) fn is_forward(operator: &str) -> bool {
    Places::of(operator).is_some_and(|places| places.query == 0)
}

pub(super) fn is_backward(operator: &str) -> bool {
    Places::of(operator).is_some_and(|places| places.query == 1)
}

pub(super) fn forward(operator: &str, inputs: &Inputs) -> Option<Work> {
    let attention = Attention::of(operator, inputs)?;
    let tensors = attention.tensors()?;
    attention.work(1, 1, sum([Some(tensors), attention.result()])?)
}

/// The scores are computed again; then come the gradients of values, scores, queries and keys.
pub(super) fn backward(operator: &str, inputs: &Inputs) -> Option<Work> {
    let attention = Attention::of(operator, inputs)?;
    let tensors = times([2, attention.tensors()?]);
    let results = times([2, attention.result()?]);
    attention.work(3, 2, sum([tensors, results])?)
}

pub(super) fn params(operator: &str, inputs: &Inputs) -> Option<Params> {
    let at = Places::of(operator)?;
    let heads = Heads::of(inputs, &at)?;
    let sizes = match heads.packed {
        None => Collected::of(inputs).with("B", heads.batch).with("N_Q", heads.queries),
        Some([longest, _]) => Collected::of(inputs)
            .with("B", inputs.dims(at.starts?)?.first()?.checked_sub(1)?)
            .with("total_Q", heads.queries)
            .with("max_Q", longest),
    };
    let sizes = sizes.with("H_Q", heads.heads);
    let sizes = match heads.packed {
        None => sizes.with("N_KV", heads.keys),
        Some([_, longest]) => sizes.with("total_KV", heads.keys).with("max_KV", longest),
    };
    let sizes = sizes.with("H_KV", heads.shared).with("d_h_qk", heads.key_width).with("d_h_v", heads.value_width);
    let told = sizes.real("dropout", at.dropout);
    let told = match is_causal(inputs, &at) {
        Some(is_causal) => told.with("causal", is_causal),
        None => told,
    };
    let types = [Some(at.query), Some(at.query + 1)];
    Some(told.with("flash_impl", operator.contains("flash")).types("dtype_A_B", &types).done())
}

fn is_causal(inputs: &Inputs, at: &Places) -> Option<bool> {
    match at.causal {
        Causal::Flag(at) => inputs.flag(at),
        Causal::Number(at) => inputs.number(at).filter(|number| *number <= 2).map(|number| number > 0),
    }
}

/// How many there are of what, and how wide.
#[derive(Clone, Copy, Debug)]
struct Heads {
    batch: u64,
    heads: u64,
    /// Of each sequence; of sequences one after the other, of all.
    queries: u64,
    keys: u64,
    /// Heads of keys and values.
    shared: u64,
    key_width: u64,
    value_width: u64,
    /// Of sequences one after the other, the longest of queries and of keys.
    packed: Option<[u64; 2]>,
}

impl Heads {
    fn of(inputs: &Inputs, at: &Places) -> Option<Self> {
        let is_given = |at: usize| !inputs.is_absent(at) && inputs.dims(at).is_some_and(|dims| !dims.contains(&0));
        let is_packed = at.starts.is_some_and(|starts| is_given(starts) || is_given(starts + 1));
        let packed = if is_packed { Some([inputs.number(at.longest?)?, inputs.number(at.longest? + 1)?]) } else { None };
        let of = |more: usize| match *inputs.dims(at.query + more)? {
            [tokens, heads, width] if is_packed => Some((1, heads, tokens, width)),
            [batch, heads, tokens, width] if at.heads_first => Some((batch, heads, tokens, width)),
            [batch, tokens, heads, width] if !at.heads_first => Some((batch, heads, tokens, width)),
            _ => None,
        };
        let ((batch, heads, queries, width), (batches, shared, keys, key_width)) = (of(0)?, of(1)?);
        let (value_batches, value_heads, values, value_width) = of(2)?;
        let is_grouped = shared > 0 && heads % shared == 0 && shared == value_heads;
        let is_whole = batch == batches && batch == value_batches && keys == values && width == key_width;
        let is_one = !is_packed || batch == 1;
        let heads = Self { batch, heads, queries, keys, shared, key_width, value_width, packed };
        (is_grouped && is_whole && is_one).then_some(heads)
    }

    /// Pairs of a query and a key of one head, at most where sequences lie one after the other.
    fn pairs(&self) -> Option<u64> {
        match self.packed {
            None => times([self.batch, self.queries, self.keys]),
            Some([query, key]) => {
                Some(times([self.queries, key.min(self.keys)])?.min(times([self.keys, query.min(self.queries)])?))
            }
        }
    }
}

struct Attention<'a> {
    query: Tensor<'a>,
    key: Tensor<'a>,
    value: Tensor<'a>,
    heads: Heads,
    mask: u64,
    is_causal: bool,
}

impl<'a> Attention<'a> {
    fn of(operator: &str, inputs: &'a Inputs) -> Option<Self> {
        let at = Places::of(operator)?;
        let [query, key, value] = [0, 1, 2].map(|more| inputs.tensor(at.query + more));
        let heads = Heads::of(inputs, &at)?;
        let sees_whole = |at: usize| matches!(inputs.concrete(at), None | Some("-1"));
        let is_partial = at.partial.is_some_and(|(first, last)| (first..=last).any(|at| !inputs.is_absent(at)));
        let is_windowed = at.window.is_some_and(|left| {
            let right = if Places::window_is_one(operator) { left } else { left + 1 };
            !sees_whole(left) || !sees_whole(right)
        });
        let is_causal = is_causal(inputs, &at)?;
        let is_slanted = is_causal && heads.packed.is_none() && heads.queries != heads.keys;
        if is_partial || is_windowed || is_slanted {
            return None;
        }
        let mask = at.mask.map_or(Some(0), |mask| inputs.optional_bytes(mask))?;
        Some(Self { query: query?, key: key?, value: value?, heads, mask, is_causal })
    }

    /// Bytes of all that goes in.
    fn tensors(&self) -> Option<u64> {
        sum([self.query.bytes(), self.key.bytes(), self.value.bytes()])
    }

    /// Bytes of what comes out: one for each query, head and element of a value.
    fn result(&self) -> Option<u64> {
        let Heads { batch, heads, queries, value_width, .. } = self.heads;
        times([batch, heads, queries, value_width, self.query.dtype.bytes()])
    }

    /// That many products as wide as a key and as a value.
    fn work(&self, of_keys: u64, of_values: u64, bytes: u64) -> Option<Work> {
        let width = sum([times([of_keys, self.heads.key_width]), times([of_values, self.heads.value_width])])?;
        let flops = times([2, self.heads.heads, self.heads.pairs()?, width])?;
        let bytes = sum([Some(bytes), Some(self.mask)])?;
        let work = |flops| Work::of_matrices(self.query.dtype, flops, bytes);
        Some(match (self.heads.packed, self.is_causal) {
            (Some(_), _) => work(flops).at_most(),
            (None, true) => work(flops / 2),
            (None, false) => work(flops),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::models::counted::counted;
    use crate::{Figures, Inputs, Model, Work};

    /// Queries, keys and values of the shapes given, after as many other inputs as `before` says; the value of `causal` is at its place.
    fn of(name: &str, shapes: [&str; 3], before: usize, causal: (usize, &str)) -> Option<(u64, u64)> {
        let is_shape = |at: usize| (before..before + 3).contains(&at);
        let all: Vec<usize> = (0..=causal.0).collect();
        let dims: Vec<&str> = all.iter().map(|at| if is_shape(*at) { shapes[at - before] } else { "[]" }).collect();
        let types: Vec<&str> = all.iter().map(|at| if is_shape(*at) { "c10::Half" } else { "" }).collect();
        let concrete: Vec<&str> = all.iter().map(|at| if *at == causal.0 { causal.1 } else { "" }).collect();
        counted(&format!("aten::{name}"), &format!("[{}]", dims.join(",")), &types, &concrete)
    }

    #[test]
    fn attention_is_counted_as_by_hand() {
        // 2 sequences of 4 heads: 3 queries of width 8 see 5 keys, 15 scores of 8 products each, and 15 times values of width 6.
        let shapes = ["[2, 4, 3, 8]", "[2, 4, 5, 8]", "[2, 4, 5, 6]"];
        let tensors = 8 * (24 + 40 + 30);
        let flash = "_scaled_dot_product_flash_attention";
        let forward = of(flash, shapes, 0, (4, "False"));
        assert_eq!(forward, Some((8 * 15 * 2 * (8 + 6), (tensors + 8 * 18) * 2)));
        assert_eq!(of("_scaled_dot_product_efficient_attention", shapes, 0, (6, "False")), forward);
        // Backward: three products of width 8 and two of 6; all tensors and their gradients, the result and its gradient.
        let backward = of("_scaled_dot_product_flash_attention_backward", shapes, 1, (11, "False"));
        assert_eq!(backward, Some((8 * 15 * 2 * (24 + 12), (tensors + 8 * 18) * 2 * 2)));
        // Two heads share keys and values.
        let grouped = ["[2, 4, 3, 8]", "[2, 2, 5, 8]", "[2, 2, 5, 6]"];
        assert_eq!(of(flash, grouped, 0, (4, "False")), Some((8 * 15 * 28, (8 * 24 + 4 * 70 + 8 * 18) * 2)));
        // The other layout has the same numbers.
        let turned = ["[2, 3, 4, 8]", "[2, 5, 4, 8]", "[2, 5, 4, 6]"];
        assert_eq!(of("_flash_attention_forward", turned, 0, (8, "False")), forward);
    }

    /// Sequences one after the other: 12 queries and 20 keys, of at most 8 and 10.
    fn packed(operator: &str, shapes: [&str; 3], before: usize, more: &[(usize, &str, &str, &str)]) -> Option<Work> {
        let count = 20;
        let (mut dims, mut types, mut concrete) = (vec!["[]"; count], vec![""; count], vec![""; count]);
        for (at, shape) in shapes.iter().enumerate() {
            (dims[before + at], types[before + at]) = (shape, "c10::Half");
        }
        for (at, shape, kind, value) in more {
            (dims[*at], types[*at], concrete[*at]) = (shape, kind, value);
        }
        let text = |list: &[&str]| format!("{list:?}");
        let inputs = Inputs::parse(&format!("[{}]", dims.join(",")), &text(&types), None, Some(&text(&concrete)))?;
        Model::of(operator)?.work(operator, &inputs)
    }

    #[test]
    fn sequences_of_several_lengths_have_the_most_that_they_can_take() {
        let starts = |at: usize, causal: usize, is_causal: &'static str| {
            let number = |at, value| (at, "[]", "Scalar", value);
            vec![
                (at, "[4]", "int", ""),
                (at + 1, "[4]", "int", ""),
                number(at + 2, "8"),
                number(at + 3, "10"),
                number(causal, is_causal),
            ]
        };
        let shapes = ["[12, 4, 16]", "[20, 2, 16]", "[20, 2, 16]"];
        // 12 queries see 10 keys, or 20 keys are seen by 8 queries: at most 120 pairs a head, whether causal or not.
        let (pairs, bytes) = (120, 2 * (12 * 4 * 16 + 2 * 20 * 2 * 16 + 12 * 4 * 16));
        let forward = "flash_attn::_flash_attn_varlen_forward";
        for is_causal in ["True", "False"] {
            let work = packed(forward, shapes, 0, &starts(3, 9, is_causal)).unwrap();
            assert_eq!((work.flops, work.bytes, work.figures), (Some(4 * pairs * 2 * 32), bytes, Figures::AtMost));
        }
        let work = packed("aten::_flash_attention_forward", shapes, 0, &starts(3, 8, "True")).unwrap();
        assert_eq!((work.flops, work.figures), (Some(4 * pairs * 64), Figures::AtMost));
        let work = packed("flash_attn::_flash_attn_varlen_backward", shapes, 1, &starts(9, 15, "False")).unwrap();
        assert_eq!((work.flops, work.bytes), (Some(4 * pairs * 2 * (3 + 2) * 16), 2 * bytes));
        // xFormers' kernels have a batch of one.
        let shapes = ["[1, 12, 4, 16]", "[1, 20, 2, 16]", "[1, 20, 2, 16]"];
        let work = packed("aten::_efficient_attention_forward", shapes, 0, &starts(4, 9, "1")).unwrap();
        assert_eq!((work.flops, work.bytes, work.figures), (Some(4 * pairs * 64), bytes, Figures::AtMost));
    }

    #[test]
    fn what_the_longest_sequence_is_not_known_of_has_no_figure() {
        let forward = "flash_attn::_flash_attn_varlen_forward";
        let shapes = ["[12, 4, 16]", "[20, 2, 16]", "[20, 2, 16]"];
        let starts = [(3, "[4]", "int", ""), (4, "[4]", "int", ""), (9, "[]", "Scalar", "True")];
        assert_eq!(packed(forward, shapes, 0, &starts), None);
        // Keys in blocks of a cache: the shapes are the cache's.
        let mut paged = starts.to_vec();
        paged.extend([(5, "[]", "Scalar", "8"), (6, "[]", "Scalar", "10")]);
        assert!(packed(forward, shapes, 0, &paged).is_some());
        paged.push((15, "[3, 2]", "int", ""));
        assert_eq!(packed(forward, shapes, 0, &paged), None);
    }

    #[test]
    fn causal_attention_needs_half_and_as_many_keys_as_queries() {
        let flash = "_scaled_dot_product_flash_attention";
        let square = ["[2, 4, 6, 8]"; 3];
        let [whole, half] = ["False", "True"].map(|causal| of(flash, square, 0, (4, causal)).unwrap());
        assert_eq!((whole.0 / 2, whole.1), half);
        assert_eq!(of(flash, ["[2, 4, 3, 8]", "[2, 4, 5, 8]", "[2, 4, 5, 8]"], 0, (4, "True")), None);
        // Nobody said whether it is.
        assert_eq!(of(flash, square, 0, (4, "")), None);
        // A query sees 2 keys.
        let window = |left: &str| {
            let types = ["float", "float", "float", "", "", "", "", "", "", "", "", "", ""];
            let dims = format!("[{}{}]", "[2, 6, 4, 8], ".repeat(3), ["[]"; 10].join(", "));
            let concrete = ["", "", "", "", "", "", "", "", "True", "", "", left, "0"]
                .map(|text| if left == "-1" && text == "0" { "-1" } else { text });
            let inputs = Inputs::parse(&dims, &format!("{types:?}"), None, Some(&format!("{concrete:?}"))).unwrap();
            Model::AttentionFwd.work("aten::_flash_attention_forward", &inputs)
        };
        assert!(window("-1").is_some() && window("2").is_none());
        // Sequences of several lengths, one after the other.
        assert_eq!(of("_flash_attention_forward", ["[12, 4, 8]"; 3], 0, (8, "True")), None);
    }
}
