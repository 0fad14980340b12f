//! What parbake promises, tested from outside.

mod cache;
mod order;
mod source;
mod steps;
