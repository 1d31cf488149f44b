//! Attention in one kernel: softmax of queries times keys, times values, for each head.
//!
//! Two products of matrices forward, five backward; the softmax between them is not counted. Where a query sees only the keys before it,
//! half of each product is needed. How that lies where there are not as many keys as queries depends on the kernel, so there is no
//! figure; nor is there one of sequences of several lengths in one batch, which the shapes do not tell, nor of a sliding window.

use super::count::{product as times, sum};
use super::inputs::Tensor;
use super::{Engine, Inputs, Work};

/// Where the arguments of an operator are.
struct Places {
    query: usize,
    causal: usize,
    /// Heads are the second of the four lengths, and else the third.
    heads_first: bool,
    /// What adds to the scores.
    mask: Option<usize>,
    /// Lengths of the sequences of a batch.
    lengths: Option<usize>,
    /// How many keys to the left of a query it sees; how many to the right follows.
    window: Option<usize>,
}

impl Places {
    fn of(name: &str) -> Option<Self> {
        let of = |query, causal, heads_first, mask, lengths| Self { query, causal, heads_first, mask, lengths, window: None };
        Some(match name {
            "_scaled_dot_product_flash_attention" => of(0, 4, true, None, None),
            "_scaled_dot_product_efficient_attention" | "_scaled_dot_product_cudnn_attention" => of(0, 6, true, Some(3), None),
            "_flash_attention_forward" => Self { window: Some(11), ..of(0, 8, false, None, Some(3)) },
            "_scaled_dot_product_flash_attention_backward" => of(1, 11, true, None, Some(6)),
            "_scaled_dot_product_efficient_attention_backward" => of(1, 11, true, Some(4), None),
            "_scaled_dot_product_cudnn_attention_backward" => of(1, 14, true, Some(8), Some(9)),
            "_flash_attention_backward" => Self { window: Some(15), ..of(1, 11, false, None, Some(6)) },
            _ => return None,
        })
    }
}

pub(super) fn is_forward(name: &str) -> bool {
    Places::of(name).is_some_and(|places| places.query == 0)
}

pub(super) fn is_backward(name: &str) -> bool {
    Places::of(name).is_some_and(|places| places.query == 1)
}

pub(super) fn forward(name: &str, inputs: &Inputs) -> Option<Work> {
    let attention = Attention::of(inputs, &Places::of(name)?)?;
    let tensors = attention.tensors()?;
    attention.work(1, 1, sum([Some(tensors), attention.result()])?)
}

/// The scores are computed again; then come the gradients of values, scores, queries and keys.
pub(super) fn backward(name: &str, inputs: &Inputs) -> Option<Work> {
    let attention = Attention::of(inputs, &Places::of(name)?)?;
    let tensors = times([2, attention.tensors()?]);
    let results = times([2, attention.result()?]);
    attention.work(3, 2, sum([tensors, results])?)
}

struct Attention<'a> {
    query: Tensor<'a>,
    key: Tensor<'a>,
    value: Tensor<'a>,
    mask: u64,
    /// Pairs of a query and a key that are multiplied, over all heads, times two.
    twice_pairs: u64,
    /// How many results: one for each query, head and element of a value.
    results: u64,
    is_causal: bool,
}

impl<'a> Attention<'a> {
    fn of(inputs: &'a Inputs, at: &Places) -> Option<Self> {
        let [query, key, value] = [0, 1, 2].map(|more| inputs.tensor(at.query + more));
        let (query, key, value) = (query?, key?, value?);
        let is_empty = |at: usize| inputs.tensor(at).is_some_and(|tensor| tensor.elements() == Some(0));
        if at.lengths.is_some_and(|lengths| !inputs.is_absent(lengths) && !is_empty(lengths)) {
            return None;
        }
        let is_seen_whole = |at| matches!(inputs.concrete(at), None | Some("-1"));
        if at.window.is_some_and(|left| !is_seen_whole(left) || !is_seen_whole(left + 1)) {
            return None;
        }
        let of = |tensor: Tensor<'_>| {
            let [batch, one, other, width] = tensor.lengths()?;
            Some(if at.heads_first { (batch, one, other, width) } else { (batch, other, one, width) })
        };
        let ((batch, heads, queries, width), (batches, shared, keys, key_width)) = (of(query)?, of(key)?);
        let (value_batches, value_heads, values, value_width) = of(value)?;
        let is_grouped = shared > 0 && heads % shared == 0 && shared == value_heads;
        let is_whole = batch == batches && batch == value_batches && keys == values && width == key_width;
        let is_causal = inputs.flag(at.causal)?;
        if !is_grouped || !is_whole || (is_causal && queries != keys) {
            return None;
        }
        let mask = at.mask.map_or(Some(0), |mask| inputs.optional_bytes(mask))?;
        let twice_pairs = times([2, batch, heads, queries, keys])?;
        Some(Self { query, key, value, mask, twice_pairs, results: times([batch, heads, queries, value_width])?, is_causal })
    }

    /// Bytes of all that goes in.
    fn tensors(&self) -> Option<u64> {
        sum([self.query.bytes(), self.key.bytes(), self.value.bytes()])
    }

    /// Bytes of what comes out.
    fn result(&self) -> Option<u64> {
        times([self.results, self.query.dtype.bytes()])
    }

    /// That many products as wide as a key and as a value.
    fn work(&self, of_keys: u64, of_values: u64, bytes: u64) -> Option<Work> {
        let (key, value) = (*self.query.dims.last()?, *self.value.dims.last()?);
        let width = sum([times([of_keys, key]), times([of_values, value])])?;
        let flops = times([self.twice_pairs, width])?;
        Some(Work {
            flops: if self.is_causal { flops / 2 } else { flops },
            bytes: sum([Some(bytes), Some(self.mask)])?,
            engine: Engine::Matrix,
            dtype: self.query.dtype,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::models::counted::counted;
    use crate::{Inputs, Model};

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
