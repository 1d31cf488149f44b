//! The original's random dispatches, draw for draw: sequence lengths, degrees of context parallelism and destinations from
//! one seed, as a [`Batch`](crate::Batch) (dispatch spec 2.1, 2.2 and 2.6).

mod custom;
mod lengths;
mod pipeline;
mod seeded;

pub use custom::{CustomMapping, create_qkv_dispatch_with_custom_mapping};
pub use lengths::{gen_seq_lens, gen_seq_lens_valid};
pub use pipeline::{pipeline_tick_backward, pipeline_tick_forward};
pub use seeded::{Drawn, Recipe, create_qkv_dispatch, create_qkv_dispatch_2cp, create_qkv_dispatch_with_backward};
