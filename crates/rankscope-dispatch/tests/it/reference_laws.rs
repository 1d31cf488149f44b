//! Exchanges against the plain reference, for element types and rows of all sizes, and what de-duplication saves.

use proptest::prelude::*;
use rankscope_dispatch::movement::{self, ElementType, reference};
use rankscope_dispatch::{ContextTokens, Direction, Exchange, Rows};

fn rows() -> impl Strategy<Value = Rows> {
    (0_u32..9, 0_u32..9, 0_u32..3, 1_u32..9).prop_map(|(hidden_q, hidden_kv, lse, element_bytes)| Rows {
        hidden_q,
        hidden_kv,
        lse,
        element_bytes,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_arrives_is_what_must(batch in crate::batches::batch(), rows in rows(), seed in any::<u8>()) {
        for direction in [Direction::Forward, Direction::Resend, Direction::OutputGradient, Direction::Output] {
            let exchange = Exchange::new(&batch, &rows, direction).unwrap();
            let mut byte = seed;
            let inputs: Vec<Vec<Vec<u8>>> = exchange.ranks.iter().map(|part| {
                exchange.tensors.iter().zip(&part.input_rows).map(|(tensor, rows)| {
                    (0..tensor.row_bytes * rows).map(|_| {
                        byte = byte.wrapping_mul(5).wrapping_add(41);
                        byte
                    }).collect()
                }).collect()
            }).collect();
            let arrived = movement::execute(&exchange, ElementType::U8, &inputs).unwrap();
            prop_assert_eq!(arrived, reference::arrived(&batch, &exchange.tensors, direction, &inputs));
        }
    }

    #[test]
    fn gradients_of_ones_count_the_uses(batch in crate::batches::batch()) {
        let rows = Rows { hidden_q: 1, hidden_kv: 1, lse: 0, element_bytes: 2 };
        let exchange = Exchange::new(&batch, &rows, Direction::Backward).unwrap();
        let one = half::bf16::ONE.to_le_bytes();
        let inputs: Vec<Vec<_>> = exchange.ranks.iter().map(|part| part.input_rows.iter().map(|rows| one.repeat(*rows as usize)).collect()).collect();
        let arrived = movement::execute(&exchange, ElementType::Bf16, &inputs).unwrap();
        for (tensors, uses) in arrived.iter().zip(reference::uses(&batch)) {
            let expected: Vec<u8> = uses.iter().flat_map(|uses| half::bf16::from_f32(*uses as f32).to_le_bytes()).collect();
            prop_assert_eq!(&tensors[1][..expected.len()], expected.as_slice());
            prop_assert_eq!(&tensors[2][..expected.len()], expected.as_slice());
        }
    }

    #[test]
    fn what_is_saved_is_what_is_not_sent(batch in crate::batches::batch()) {
        let rows = Rows { hidden_q: 0, hidden_kv: 8, lse: 0, element_bytes: 2 };
        let exchange = Exchange::new(&batch, &rows, Direction::Forward).unwrap();
        let tokens = ContextTokens::new(&batch).unwrap();
        let sent: u64 = exchange.ranks.iter().map(|part| part.send_bytes).sum();
        prop_assert_eq!(sent, tokens.per_rank * 32);
        prop_assert_eq!(exchange.ranks.iter().map(|part| part.output_rows[1]).sum::<u64>(), tokens.per_task);
        prop_assert!(tokens.ratio() >= 1.0);
    }
}
