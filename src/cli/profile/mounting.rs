//! Temporary mounts for the profiler: this very program, started again with the strategy in a
//! config of its own.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cli::setup::Setup;
use crate::config::with_strategy;
use crate::exec::{Executor, Found};
use crate::fs::shown;
use crate::fuse;
use crate::pipeline::Strategy;
use crate::profile::{Mounted, Mounts};
use crate::source::Source;

/// How the names of mountpoints in the scratch folder begin.
pub(super) const MOUNTPOINT: &str = "mount-";

/// How long a mount may take to end once it is off its name.
const END_AT_MOST: Duration = Duration::from_secs(5);

/// Mounts below a scratch folder.
pub(super) struct Mounting<'a> {
    pub(super) setup: &'a Setup,
    /// The config's file.
    pub(super) config: &'a Path,
    pub(super) source: Arc<dyn Source>,
    /// Which pipeline is measured.
    pub(super) plan: usize,
    pub(super) scratch: &'a Path,
    pub(super) threads: usize,
}

impl Mounts for Mounting<'_> {
    fn mount(&self, strategy: Strategy, cache: &Path) -> Result<Box<dyn Mounted>, String> {
        let words = |error: std::io::Error| error.to_string();
        let name = cache.file_name().map_or_else(|| "none".into(), |name| name.to_string_lossy());
        let mountpoint = self.scratch.join(format!("{MOUNTPOINT}{name}"));
        std::fs::create_dir_all(&mountpoint).map_err(words)?;
        let config = self.scratch.join(format!("{name}.toml"));
        std::fs::write(&config, self.text(strategy)?).map_err(words)?;
        let log = self.scratch.join(format!("{name}.log"));
        let stderr = File::create(&log).map_err(words)?;

        let mut command = Command::new(std::env::current_exe().map_err(words)?);
        command.arg("mount").arg("--announce").arg("--source").arg(&self.setup.source);
        command.arg("--cache").arg(cache).arg("--threads").arg(self.threads.to_string());
        command.arg("--").arg(&config).arg(&mountpoint);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
        let mut child = command.spawn().map_err(words)?;
        let mut first = String::new();
        if let Some(stdout) = child.stdout.take() {
            // An error here is the child's end; what it says of it is in the log.
            let _ = BufReader::new(stdout).read_line(&mut first);
        }
        // From here on it is taken off, come what may.
        let mount = Temporary { child, mountpoint, names: self.names(), plan: self.plan };
        if first == "ready\n" {
            return Ok(Box::new(mount));
        }
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        let why = said.lines().find_map(|line| line.strip_prefix("error: "));
        Err(why.unwrap_or("the mount ended").to_owned())
    }
}

impl Mounting<'_> {
    /// The config with this strategy for the pipeline, and nothing in memory, as it is measured.
    fn text(&self, strategy: Strategy) -> Result<String, String> {
        let text = std::fs::read_to_string(self.config).map_err(|error| error.to_string())?;
        let plans = &self.setup.config.plans;
        let names: Vec<(String, String)> = plans
            .iter()
            .enumerate()
            .map(|(at, plan)| {
                let strategy = if at == self.plan { strategy } else { plan.strategy };
                (plan.pipeline.split_name(strategy.split), strategy.codec.to_string())
            })
            .collect();
        let text = with_strategy(&text, &names).map_err(|error| error.to_string())?;
        let mut document: toml_edit::DocumentMut =
            text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
        if let Some(cache) = document.get_mut("cache").and_then(|item| item.as_table_like_mut()) {
            cache.remove("memory");
        }
        Ok(document.to_string())
    }

    /// What every sample is served as, by its path.
    fn names(&self) -> Names {
        let config = &self.setup.config;
        let source = Arc::clone(&self.source);
        let exec = Executor::new(source, None, config.plans.clone(), config.seed);
        Names { exec, naming: config.naming, folders: Default::default() }
    }
}

/// Served names, a folder looked at when it is first asked for.
struct Names {
    exec: Executor,
    naming: crate::fs::Naming,
    folders: parking_lot::Mutex<HashMap<PathBuf, HashMap<PathBuf, PathBuf>>>,
}

impl Names {
    fn served(&self, path: &Path, plan: usize) -> Option<PathBuf> {
        let folder = path.parent()?;
        let mut folders = self.folders.lock();
        let names = folders.entry(folder.to_owned()).or_insert_with(|| {
            let all = shown(&self.exec, self.naming, folder).unwrap_or_default();
            let mine = all.into_iter().filter(|one| one.plan == Some(plan));
            mine.map(|one| (folder.join(one.source), folder.join(one.served))).collect()
        });
        names.get(path).cloned()
    }
}

struct Temporary {
    child: Child,
    mountpoint: PathBuf,
    names: Names,
    plan: usize,
}

impl Mounted for Temporary {
    fn path(&self, found: &Found) -> Option<PathBuf> {
        Some(self.mountpoint.join(self.names.served(&found.path, self.plan)?))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Refused where nothing was mounted.
        let _ = fuse::detach(&self.mountpoint);
        let end = Instant::now() + END_AT_MOST;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        // Both fail if it has ended, as it should have.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
