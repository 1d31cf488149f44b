//! Inputs that the originals refuse, or should have refused.

use rankscope_dispatch::draw::{Recipe, create_qkv_dispatch, create_qkv_dispatch_2cp};
use rankscope_dispatch::metadata::{Compat, compute_metadata};
use rankscope_dispatch::{Batch, Shard};
use rankscope_time::Rank;

use crate::case::{number, of_kind, tensor};

#[test]
fn every_row_is_an_error_unless_it_is_marked_legal() {
    for (_, case) in of_kind("invalid_inputs") {
        for row in case["rows"].as_array().unwrap() {
            let why = row["why"].as_str().unwrap();
            let legal = ["everything padding: legal", "world 1 CP 1", "2cp ok", "world 1 with any -1"];
            let legal = legal.iter().any(|start| why.starts_with(start));
            let recipe = || Recipe {
                world_size: number(&row["world_size"]),
                total_seq_len: number(&row["total_seq_len"]),
                num_seqs: number(&row["num_seqs"]),
                max_cp_degree: number(&row["max_cp_degree"]),
                seed: 0,
                seq_lens: None,
            };
            let outcome = match row["fn"].as_str().unwrap() {
                "compute_metadata" => compute_metadata(&tensor(&row["seq_len"]), &tensor(&row["dispatch"])).map(drop),
                "create_qkv_dispatch" => create_qkv_dispatch(&recipe()).map(drop),
                "create_qkv_dispatch_2cp" => create_qkv_dispatch_2cp(&recipe()).map(drop),
                "compute_metadata_kv" => {
                    // Two shards of one document leave the second copy of the second shard unused: -1.
                    let mut batch = Batch::new(1).unwrap();
                    batch.push(&[Shard { linear: Rank(0), attention: Rank(0), tokens: 4 }; 2]).unwrap();
                    rankscope_dispatch::metadata::RawDispatch::new(&batch, 2).unwrap().metadata(Compat::Exact).map(drop)
                }
                other => panic!("{other}"),
            };
            assert_eq!(outcome.is_ok(), legal, "{why}: {outcome:?}");
        }
    }
}
