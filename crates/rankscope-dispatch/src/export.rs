//! An exchange, and the tasks around it, as the arguments that libraries and kernels take. Everything here is derived from one
//! rank's part, so a rank needs no other to make its calls; that both ends of every call agree is what
//! [`Exchange::validate`](crate::Exchange::validate) proves.

mod alltoallv;
mod group;
mod puts;
mod row_indices;
mod tasks;

pub use alltoallv::{Alltoallv, UNIT_BYTES};
pub use group::{GroupCall, group_calls};
pub use puts::{Put, PutList, Wait};
pub use row_indices::{RowIndices, RowMoves, TokenPlaces};
pub use tasks::TaskLengths;
