//! What parbake promises, tested from outside.

mod cache;
mod steps;
