//! What parbake promises, tested from outside.

mod cache;
mod care;
mod cmd;
mod docs;
mod keys;
mod layers;
mod materialize;
mod model;
mod mount;
mod order;
mod photos;
mod profile;
mod program;
mod reference;
mod source;
mod split;
mod steps;
mod verify;
