//! The command `parbake`: arguments in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    parbake::cli::main()
}
