//! The compact form of plans: what is written is read, and nothing else is.

use proptest::prelude::*;
use rankscope_dispatch::{Assignment, Batch, Error, HeadGroups, Rows, Shard, binary};
use rankscope_time::Rank;

fn rows() -> impl Strategy<Value = Rows> {
    any::<(u32, u32, u32, u32)>().prop_map(|(hidden_q, hidden_kv, lse, element_bytes)| Rows {
        hidden_q,
        hidden_kv,
        lse,
        element_bytes,
    })
}

/// Bytes with the hash that belongs to them: what a forger would write.
fn signed(body: &[u8]) -> Vec<u8> {
    [body, blake3::hash(body).as_bytes()].concat()
}

/// Plans of every kind: whole contexts or parts of them, all heads or groups.
fn plan() -> impl Strategy<Value = Assignment<'static>> {
    let groups = (1..4_u32).prop_map(|groups| HeadGroups::new(groups).expect("at least one"));
    let whole = (crate::batches::batch(), groups).prop_map(|(batch, groups)| {
        let all = groups.repeated(&batch).expect("few documents");
        Assignment::from(all).of_heads(groups).expect("the same in every group")
    });
    prop_oneof![whole, crate::batches::split_batch().prop_map(Assignment::from)]
}

proptest! {
    #[test]
    fn plans_of_every_kind_are_read_as_written(plan in plan(), rows in rows()) {
        let bytes = binary::encode(&plan, &rows);
        prop_assert_eq!(binary::decode(&bytes).unwrap(), (plan, rows));
    }

    #[test]
    fn what_is_written_is_read(batch in crate::batches::batch(), rows in rows()) {
        let bytes = binary::encode(&batch, &rows);
        prop_assert_eq!(binary::decode(&bytes).unwrap(), (Assignment::from(&batch), rows));
        prop_assert_eq!(&bytes[bytes.len() - binary::HASH_BYTES..], binary::hash(&batch, &rows));
    }

    #[test]
    fn a_plan_that_is_cut_off_or_damaged_is_refused(plan in plan(), flip in any::<(prop::sample::Index, u8)>()) {
        let bytes = binary::encode(&plan, &Rows::LLAMA_8B);
        for end in 0..bytes.len() {
            let is_refused = matches!(binary::decode(&bytes[..end]), Err(Error::Encoding { .. }));
            prop_assert!(is_refused, "cut off after {} bytes", end);
        }
        let mut damaged = bytes.clone();
        damaged[flip.0.index(bytes.len())] ^= 1 << (flip.1 % 8);
        let is_refused = matches!(binary::decode(&damaged), Err(Error::Encoding { .. }));
        prop_assert!(is_refused);
    }

    #[test]
    fn a_forged_plan_is_refused_or_is_what_it_says(plan in plan(), cut in any::<prop::sample::Index>(), noise in any::<Vec<u8>>()) {
        let bytes = binary::encode(&plan, &Rows::LLAMA_8B);
        let body = &bytes[..bytes.len() - binary::HASH_BYTES];
        let forged = signed(&[&body[..cut.index(body.len())], &noise].concat());
        if let Ok((plan, rows)) = binary::decode(&forged) {
            prop_assert_eq!(binary::encode(&plan, &rows), forged);
        }
    }
}

#[test]
fn counts_are_not_believed() {
    let header = [b"RKDP\x01".as_slice(), &[2, 1, 1, 0, 2]].concat();
    let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    let documents = signed(&[&header, huge.as_slice()].concat());
    assert_eq!(
        binary::decode(&documents).unwrap_err().to_string(),
        "byte 10 of the plan: more documents or shards than there are bytes for"
    );
    let shards = signed(&[&header, [1].as_slice(), &huge].concat());
    assert!(matches!(binary::decode(&shards), Err(Error::Encoding { at: 11, .. })));
    let endless = signed(&[&header, [0x80; 40].as_slice()].concat());
    assert!(matches!(binary::decode(&endless), Err(Error::Encoding { at: 10, .. })));
}

#[test]
fn a_shard_takes_five_bytes() {
    let mut batch = Batch::new(64).unwrap();
    for linear in 0..64 {
        let shards: Vec<_> =
            (0..8).map(|k| Shard { linear: Rank(linear), attention: Rank((linear + k * 7) % 64), tokens: 1024 }).collect();
        batch.push(&shards).unwrap();
    }
    let bytes = binary::encode(&batch, &Rows::LLAMA_8B).len();
    assert!(bytes <= 5 * batch.shards().len() + 64, "{bytes} bytes for {} shards", batch.shards().len());
}
