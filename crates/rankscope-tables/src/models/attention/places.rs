//! Where the arguments of operators for attention are, by their signatures.

/// Where the arguments of an operator are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    /// Queries; keys and values follow.
    pub(super) query: usize,
    pub(super) causal: Causal,
    /// Heads are the second of four lengths, and else the third.
    pub(super) heads_first: bool,
    /// What adds to the scores.
    pub(super) mask: Option<usize>,
    /// Where the sequences of a batch begin, of queries; of keys follow.
    pub(super) starts: Option<usize>,
    /// The longest of those sequences, of queries; of keys follows.
    pub(super) longest: Option<usize>,
    /// How many keys to the left of a query it sees; how many to the right follows.
    pub(super) window: Option<usize>,
    pub(super) dropout: usize,
    /// The first and the last of the arguments which say that not all keys are used: with one of them nothing is known.
    pub(super) partial: Option<(usize, usize)>,
}

/// How an operator is told whether a query sees only the keys before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Causal {
    /// By a truth value.
    Flag(usize),
    /// By a number: 0 for no, 1 and 2 for two ways to do it.
    Number(usize),
}

impl Places {
    /// Those of `operator`, if it is known.
    pub(super) fn of(operator: &str) -> Option<Self> {
        let of = |query, causal, dropout| Self {
            query,
            causal: Causal::Flag(causal),
            heads_first: false,
            mask: None,
            starts: None,
            longest: None,
            window: None,
            dropout,
            partial: None,
        };
        let packed = |starts| (Some(starts), Some(starts + 2));
        Some(match operator {
            "aten::_scaled_dot_product_flash_attention" => Self { heads_first: true, ..of(0, 4, 3) },
            "aten::_scaled_dot_product_efficient_attention" | "aten::_scaled_dot_product_cudnn_attention" => {
                Self { heads_first: true, mask: Some(3), ..of(0, 6, 5) }
            }
            "aten::_scaled_dot_product_flash_attention_backward" => {
                Self { heads_first: true, starts: Some(6), ..of(1, 11, 10) }
            }
            "aten::_scaled_dot_product_efficient_attention_backward" => {
                Self { heads_first: true, mask: Some(4), ..of(1, 11, 9) }
            }
            "aten::_scaled_dot_product_cudnn_attention_backward" => {
                Self { heads_first: true, mask: Some(8), starts: Some(9), ..of(1, 14, 13) }
            }
            "aten::_flash_attention_forward" => {
                let (starts, longest) = packed(3);
                Self { starts, longest, window: Some(11), partial: Some((13, 13)), ..of(0, 8, 7) }
            }
            "aten::_flash_attention_backward" => {
                let (starts, longest) = packed(6);
                Self { starts, longest, window: Some(15), ..of(1, 11, 10) }
            }
            "aten::_efficient_attention_forward" => {
                let (starts, longest) = packed(4);
                let all = of(0, 9, 8);
                Self {
                    causal: Causal::Number(9),
                    mask: Some(3),
                    starts,
                    longest,
                    window: Some(13),
                    partial: Some((12, 12)),
                    ..all
                }
            }
            "aten::_efficient_attention_backward" => {
                let (starts, longest) = packed(6);
                Self { causal: Causal::Number(14), mask: Some(4), starts, longest, window: Some(18), ..of(1, 14, 11) }
            }
            "flash_attn::_flash_attn_forward" => Self { window: Some(6), ..of(0, 5, 3) },
            "flash_attn::_flash_attn_backward" => Self { window: Some(12), ..of(1, 11, 9) },
            "flash_attn::_flash_attn_varlen_forward" => {
                let (starts, longest) = packed(3);
                Self { starts, longest, window: Some(10), partial: Some((15, 17)), ..of(0, 9, 7) }
            }
            "flash_attn::_flash_attn_varlen_backward" => {
                let (starts, longest) = packed(9);
                Self { starts, longest, window: Some(16), ..of(1, 15, 13) }
            }
            _ => return None,
        })
    }

    /// Whether the window has one number for both sides.
    pub(super) fn window_is_one(operator: &str) -> bool {
        operator.starts_with("aten::_efficient")
    }
}
