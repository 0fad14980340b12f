//! What parbake promises, tested from outside.

mod cache;
mod cmd;
mod docs;
mod materialize;
mod mount;
mod order;
mod profile;
mod program;
mod steps;
