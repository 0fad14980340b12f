//! What parbake promises, tested from outside.

mod cache;
mod mount;
mod steps;
