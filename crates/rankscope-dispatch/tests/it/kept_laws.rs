//! What ranks keep goes through no buffer, and what arrives is what the simulator says.

#![expect(clippy::unwrap_used, reason = "a law that cannot be set up has failed")]

use proptest::prelude::*;
use rankscope_dispatch::movement::{self, ElementType, Kept, noise};
use rankscope_dispatch::{Contexts, Direction, Exchange, RowCopy, Rows};

/// Query rows of 6 bytes, output rows of 10: both need padding, key rows of 16 bytes do not.
const ROWS: Rows = Rows { hidden_q: 3, hidden_kv: 8, lse: 2, element_bytes: 2 };
const ELEMENT: ElementType = ElementType::Bf16;

/// An exchange in which nobody sends anything to itself.
fn executed(exchange: &Exchange, inputs: &[Vec<Vec<u8>>]) -> Vec<Vec<Vec<u8>>> {
    let tensors = &exchange.tensors;
    let parts: Vec<Kept> = exchange.ranks.iter().map(|part| Kept::of(part, tensors)).collect();
    let summed = |(kept, input): (&Kept, _)| movement::summed(&kept.crossing, tensors, ELEMENT, input).unwrap();
    let inputs: Vec<_> = parts.iter().zip(inputs).map(|(kept, input)| summed((kept, input))).collect();
    let pack = |(kept, input): (&Kept, _)| movement::pack_rows(&kept.crossing, tensors, input).unwrap();
    let sent: Vec<Vec<u8>> = parts.iter().zip(&inputs).map(|(kept, input)| pack((kept, input))).collect();
    let arrive = |(kept, input): (&Kept, &Vec<_>)| {
        let mut received = vec![0; kept.crossing.receive_bytes as usize];
        for message in &kept.crossing.receives {
            let run = |at: u64| at as usize..(at + message.bytes) as usize;
            received[run(message.at)].copy_from_slice(&sent[message.peer.0 as usize][run(message.peer_at)]);
        }
        let mut output = movement::unpack_rows(&kept.crossing, tensors, &received).unwrap();
        kept.copy(tensors, input, &mut output).unwrap();
        movement::sum_after(&kept.crossing, tensors, ELEMENT, &mut output).unwrap();
        output
    };
    parts.iter().zip(&inputs).map(arrive).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_is_kept_arrives_without_a_message(batch in crate::batches::batch(), seed in any::<u64>()) {
        for direction in Direction::ALL {
            for contexts in [Contexts::PerTask, Contexts::PerDocument] {
                let exchange = Exchange::with_contexts(&batch, &ROWS, direction, contexts).unwrap();
                let inputs: Vec<_> =
                    exchange.ranks.iter().map(|part| noise::draw(part, &exchange.tensors, ELEMENT, seed)).collect();
                let expected = movement::execute(&exchange, ELEMENT, &inputs).unwrap();
                prop_assert_eq!(executed(&exchange, &inputs), expected, "{:?}", direction);
            }
        }
    }

    #[test]
    fn every_byte_of_a_message_to_oneself_is_taken_out(batch in crate::batches::batch()) {
        for direction in Direction::ALL {
            let exchange = Exchange::new(&batch, &ROWS, direction).unwrap();
            let bytes = |copies: &[RowCopy]| -> u64 {
                copies.iter().map(|copy| copy.rows * exchange.tensors[copy.tensor as usize].wire_row_bytes).sum()
            };
            for part in &exchange.ranks {
                let own = part.sends.iter().find(|message| message.peer == part.rank).map_or(0, |message| message.bytes);
                let kept = Kept::of(part, &exchange.tensors);
                prop_assert!(kept.crossing.sends.iter().chain(&kept.crossing.receives).all(|message| message.peer != part.rank));
                prop_assert_eq!(bytes(&kept.crossing.pack) + own, bytes(&part.pack));
                prop_assert!(kept.crossing.validate(&exchange.tensors).is_ok());
            }
        }
    }
}
