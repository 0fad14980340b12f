//! What parbake promises, tested from outside.

mod cache;
mod layers;
mod model;
mod order;
mod reference;
mod source;
mod split;
mod steps;
