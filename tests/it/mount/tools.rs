//! Programs that a test needs and a machine may not have.

use std::process::Command;

use super::bed::printed;
use super::skip;

/// Python with NumPy: the one that `PARBAKE_PYTHON` names, else `python3`. `None` where there is
/// none.
pub(super) fn python() -> Option<Command> {
    let name = std::env::var_os("PARBAKE_PYTHON").unwrap_or_else(|| "python3".into());
    match Command::new(&name).args(["-c", "import numpy"]).output() {
        Ok(ran) if ran.status.success() => Some(Command::new(name)),
        _ => {
            skip(&format!("{} cannot import numpy: set PARBAKE_PYTHON", name.display()));
            None
        }
    }
}

/// What a script prints, given these arguments. `np` is NumPy.
#[track_caller]
pub(super) fn script(mut python: Command, script: &str, arguments: &[&std::path::Path]) -> String {
    let script = format!("import os, sys\nimport numpy as np\n{script}");
    printed(python.arg("-c").arg(script).args(arguments)).trim().to_owned()
}

/// A program, if it is installed.
pub(super) fn tool(name: &str) -> Option<Command> {
    if Command::new(name).arg("--version").output().is_ok() {
        return Some(Command::new(name));
    }
    skip(&format!("{name} is not installed"));
    None
}
