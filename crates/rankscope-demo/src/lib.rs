//! A distributed job on this machine whose true clocks are known.
