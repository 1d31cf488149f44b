//! The drivers of clock synchronisation: sockets, kernel time stamps, clock snapshots, rendezvous, and the agent of one node.
//!
//! The one idea: everything that decides lives in `rankscope-clock` and takes `now` as an argument; this crate only moves
//! bytes and reads clocks. It is the only home of unsafe code for clock synchronisation.
