//! Measures the on-disk cache: how long opening takes, how much memory its index has, how long a
//! look-up takes, and what the checksum is of a read. Run by `scripts/bench cache`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]
#![expect(clippy::unwrap_used, reason = "a measurement that fails is no measurement")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use clap::Parser;
use parbake::cache::{Cache, DiskCache, Key, META_LEN, Options, Policy};
use serde_json::{Value, json};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Measure the on-disk cache
#[derive(Parser)]
struct Args {
    /// Where the cache is made; removed at the end
    #[arg(long)]
    dir: PathBuf,

    /// Entries
    #[arg(long, default_value_t = 1_000_000)]
    entries: u64,

    /// Bytes of each entry's body
    #[arg(long, default_value_t = 10_000)]
    body: usize,

    /// As JSON
    #[arg(long)]
    json: bool,

    /// Leave the cache where it is
    #[arg(long)]
    keep: bool,

    /// Only open the cache that is there and measure: what is run in a process of its own
    #[arg(long, hide = true)]
    only_open: bool,
}

fn key(n: u64) -> Key {
    let mut key = [0; Key::LEN];
    for (at, part) in key.chunks_exact_mut(16).enumerate() {
        part.copy_from_slice(&xxh3_128(&(n * 2 + at as u64).to_le_bytes()).to_le_bytes());
    }
    Key(key)
}

fn open(dir: &Path) -> DiskCache {
    let policy = Policy::Keep;
    let options = Options { path: dir.to_owned(), limit: u64::MAX, min_free: 0, policy };
    DiskCache::open(options).unwrap()
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

fn fill(dir: &Path, entries: u64, len: usize) {
    let cache = open(dir);
    // Bytes that no codec and no disk makes smaller.
    let mut body: Vec<u8> = (0..len as u64 / 16 + 1)
        .flat_map(|n| xxh3_128(&n.to_le_bytes()).to_le_bytes())
        .take(len)
        .collect();
    for n in 0..entries {
        let mark = n.to_le_bytes();
        let marked = mark.len().min(len);
        body[..marked].copy_from_slice(&mark[..marked]);
        assert!(cache.put(&key(n), &[0; META_LEN], &body));
    }
}

/// Numbers below `n` in an order without order.
fn some(n: u64, count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |at| xxh3_64(&at.to_le_bytes()) % n)
}

/// Median and 99th percentile, in nanoseconds.
fn spread(mut times: Vec<Duration>) -> Value {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_nanos() as u64;
    json!({ "median_ns": at(0.5), "p99_ns": at(0.99) })
}

fn timed(keys: impl Iterator<Item = Key>, mut work: impl FnMut(&Key)) -> Value {
    let one = |key: Key| {
        let from = Instant::now();
        work(black_box(&key));
        from.elapsed()
    };
    spread(keys.map(one).collect())
}

const LOOKUPS: u64 = 200_000;

/// Opens the cache and measures, in a process that did nothing before.
fn measure(dir: &Path, entries: u64) -> Value {
    let before = resident();
    let from = Instant::now();
    let cache = open(dir);
    let opening = from.elapsed();
    let memory = resident().saturating_sub(before);
    assert_eq!(cache.status().entries, entries);
    let hits = || some(entries, LOOKUPS).map(key);
    let misses = || some(entries, LOOKUPS).map(|n| key(n + (1 << 40)));
    // Once unmeasured: pages and branches are warm.
    timed(hits().take(1000), |key| _ = cache.contains(key));
    json!({
        "open_ms": opening.as_secs_f64() * 1e3,
        "memory_bytes": memory,
        "lookup_hit": timed(hits(), |key| assert!(cache.contains(key))),
        "lookup_miss": timed(misses(), |key| assert!(!cache.contains(key))),
        "get_first": timed(hits().take(20_000), |key| assert!(cache.get(key).is_some())),
        "get_again": timed(hits().take(20_000), |key| assert!(cache.get(key).is_some())),
        "get_miss": timed(misses(), |key| assert!(cache.get(key).is_none())),
    })
}

/// What the checksum is of reading a body for the first time, from the page cache.
fn checksums(dir: &Path, len: usize) -> Value {
    let dir = dir.join(format!("of-{len}"));
    let entries = (64 << 20) / len as u64;
    fill(&dir, entries, len);
    // The first of each is checked, the second isn't.
    let median = |cache: &DiskCache| {
        let times = timed((0..entries).map(key), |key| assert!(cache.get(key).is_some()));
        times["median_ns"].as_u64().unwrap()
    };
    let warm = open(&dir);
    median(&warm);
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let cache = open(&dir);
        first.push(median(&cache));
        again.push(median(&cache));
    }
    let (first, again) = (*first.iter().min().unwrap(), *again.iter().min().unwrap());
    std::fs::remove_dir_all(&dir).unwrap();
    let share = first.saturating_sub(again) as f64 / first as f64;
    json!({ "body": len, "first_ns": first, "again_ns": again, "checksum_share": share })
}

fn table(all: &Value) -> String {
    let mut out = String::new();
    let mut row = |name: &str, value: String| out += &format!("{name:<34}{value}\n");
    let us = |value: &Value| value.as_u64().unwrap() as f64 / 1e3;
    row("entries", format!("{} of {} bytes", all["entries"], all["body"]));
    row("filling", format!("{:.1} s", all["fill_s"].as_f64().unwrap()));
    for (how, name) in [("indexed", "opening"), ("no_index", "opening, indexes deleted")] {
        let one = &all[how];
        let (ms, memory) =
            (one["open_ms"].as_f64().unwrap(), one["memory_bytes"].as_u64().unwrap());
        row(name, format!("{ms:.0} ms, {:.1} MB", memory as f64 / 1e6));
    }
    let one = &all["indexed"];
    let names = [
        ("lookup_hit", "look-up, there"),
        ("lookup_miss", "look-up, not there"),
        ("get_first", "get, mostly first of the entry"),
        ("get_again", "get, again"),
        ("get_miss", "get, not there"),
    ];
    for (key, name) in names {
        let (median, p99) = (us(&one[key]["median_ns"]), us(&one[key]["p99_ns"]));
        row(name, format!("median {median:.2} µs, p99 {p99:.2} µs"));
    }
    for one in all["checksums"].as_array().unwrap() {
        let share = one["checksum_share"].as_f64().unwrap() * 100.0;
        row(
            &format!("read of {} bytes", one["body"]),
            format!(
                "{:.1} µs with its checksum, {:.1} µs without: {share:.0} %",
                us(&one["first_ns"]),
                us(&one["again_ns"])
            ),
        );
    }
    out
}

fn main() {
    let args = Args::parse();
    let dir = &args.dir;
    if args.only_open {
        println!("{}", measure(dir, args.entries));
        return;
    }
    let _ = std::fs::remove_dir_all(dir);
    std::fs::create_dir_all(dir).unwrap();
    eprintln!("filling {} with {} entries of {} bytes", dir.display(), args.entries, args.body);
    let from = Instant::now();
    fill(dir, args.entries, args.body);
    let filling = from.elapsed().as_secs_f64();
    let in_a_process = || {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--only-open", "--dir"])
            .arg(dir)
            .args(["--entries", &args.entries.to_string()])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let indexed = in_a_process();
    std::fs::remove_dir_all(dir.join("parbake-v1/index")).unwrap();
    let no_index = in_a_process();
    let checksums: Vec<Value> =
        [10_000, 200_000, 600_000].map(|len| checksums(dir, len)).into_iter().collect();
    if !args.keep {
        std::fs::remove_dir_all(dir).unwrap();
    }
    let all = json!({
        "entries": args.entries,
        "body": args.body,
        "fill_s": filling,
        "indexed": indexed,
        "no_index": no_index,
        "checksums": checksums,
    });
    match args.json {
        true => println!("{all:#}"),
        false => print!("{}", table(&all)),
    }
}
