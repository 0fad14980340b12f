//! The command line: words, wiring and exit codes.
//!
//! The only place that reads the environment, prints, and decides when to stop. Data goes to
//! stdout, everything said about it to stderr.

mod cache;
mod check;
mod contents;
mod demo_data;
mod explain;
mod export;
mod materialize;
mod mount;
mod profile;
mod say;
mod setup;
mod stats;
mod unmount;
mod verify;
mod watchdog;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use nix::sys::signal::{SigSet, Signal};

/// Exit codes, as `parbake --help` documents them.
const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    could not be done: the source, the cache, the mount or the kernel is in the way;
       of `verify` also: some samples differ
  2    the command line or the config is wrong
  3    done, but some samples could not be made, or records are damaged (they are listed)
  130  stopped by Ctrl-C; what was done so far is kept";

const EXAMPLES: &str = "\
Examples:
  parbake demo-data photos /tmp/photos            make a set to try things on
  parbake check photos.toml                       what each step makes, and where it may be cut
  parbake verify photos.toml                      the pixels of Pillow and torchvision? how fast?
  parbake profile photos.toml --apply             measure every cut, keep the best in the config
  parbake materialize photos.toml                 fill the cache
  parbake mount photos.toml /mnt/photos           serve it: read /mnt/photos/**/*.npy
  parbake stats /mnt/photos                       what was served, and what it cost
  parbake unmount /mnt/photos
  parbake explain photos.toml cat/1.jpg           what becomes of a file, and where it is kept
  parbake cache status photos.toml                what the cache holds, and how much of the set";

/// Serves a dataset as preprocessed sample files, from a cache at the best split of the pipeline
#[derive(Parser)]
#[command(version, after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"), max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Say more on stderr
    #[arg(long, short, global = true)]
    verbose: bool,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Check),
    Profile(profile::Profile),
    Materialize(materialize::Materialize),
    Mount(mount::Mount),
    Unmount(unmount::Unmount),
    Stats(stats::Stats),
    Export(export::Export),
    Explain(explain::Explain),
    Verify(verify::Verify),
    Cache(cache::CacheArgs),
    DemoData(demo_data::DemoData),
    #[command(hide = true)]
    Watchdog(watchdog::Watchdog),
}

/// The config, and what replaces parts of it.
#[derive(Args)]
struct ConfigArgs {
    /// The config file
    config: PathBuf,

    /// The source folder, in place of the config's `source.path`
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,

    /// The cache folder, in place of the config's `cache.path`
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

/// Runs the command that the arguments ask for.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    say::start_log(cli.verbose);
    // Where files may not grow beyond a limit, a write is to fail: the cache can do without.
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    let _ = signals.thread_block();
    let done = match cli.command {
        Command::Check(command) => command.run(),
        Command::Profile(command) => command.run(),
        Command::Materialize(command) => command.run(),
        Command::Mount(command) => command.run(cli.verbose),
        Command::Unmount(command) => command.run(),
        Command::Stats(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Verify(command) => command.run(),
        Command::Cache(command) => command.run(),
        Command::DemoData(command) => command.run(),
        Command::Watchdog(command) => command.run(),
    };
    match done {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// Finished, but not everything could be made.
fn some_failed() -> ExitCode {
    ExitCode::from(3)
}

/// Stopped by Ctrl-C.
fn interrupted() -> ExitCode {
    ExitCode::from(130)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_well_formed() {
        super::Cli::command().debug_assert();
    }
}
