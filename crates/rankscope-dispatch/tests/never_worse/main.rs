//! A plan is never worse than no plan: ten thousand batches and every planner.

mod batches;
mod laws;
mod oracle;
#[path = "../it/received/mod.rs"]
mod received;
