//! parbake serves a dataset as preprocessed sample files, from a cache at the best split of the
//! pipeline. `ARCHITECTURE.md` has the drawing, the layers and the invariants.

pub mod cache;
pub mod cli;
pub mod config;
pub mod demo;
pub mod draw;
pub mod exec;
pub mod fs;
pub mod fuse;
pub mod output;
pub mod pipeline;
pub mod profile;
pub mod sample;
pub mod source;
pub mod step;
pub mod units;
