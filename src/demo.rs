//! A dataset to try parbake on: photo-like JPEGs in class folders, the same on every machine.
//!
//! What has to be like photos is what decoding costs, for that is what a cache saves. Matched to
//! 288 ImageNet photos of at most 520 pixels, decoded by libjpeg-turbo on one core: the bits per
//! pixel of all photos (5.16 against 5.15; 4:4:4 only, 1.06 as many), the time to decode a
//! megapixel (1.05 to 1.15 times as long, 1.2 for 4:4:4 only; by hand, by turns on a busy machine),
//! 76 % 4:4:4 at quality 96, 20 % 4:2:0, a few grey, and the power spectrum of the luma within a factor of 3 at all scales.
//!
//! It knows nothing of pipelines, caches or mounts, and shows no real thing: nobody should train a
//! model on it.

mod classes;
mod folder;
mod noise;
mod photo;
mod scene;
mod texture;
mod thing;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use folder::Folder;

/// Which generator wrote a folder. The bytes of a version's photos never change.
const VERSION: u32 = 1;

/// What is in the folder now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Photos that were asked for and are there.
    pub photos: usize,
    /// How many of them this call wrote: the others were there.
    pub written: usize,
    /// What the photos take, all together.
    pub bytes: u64,
}

/// Makes `samples` photos in a folder that doesn't exist, is empty, or was written by this very
/// function: then only what is missing is made. A folder is never made smaller.
///
/// `progress` is told how many photos are there, from any thread and not always in order.
///
/// # Errors
/// `AlreadyExists` if the folder has anything else in it, or photos of another version. Otherwise
/// as the file system's; every photo that is there is whole even then, and a next call goes on.
pub fn photos(
    folder: &Path,
    samples: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> io::Result<Report> {
    let folder = Folder::open(folder, samples)?;
    let work = Work {
        folder: &folder,
        samples,
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        failed: AtomicBool::new(false),
        progress,
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(samples.max(1));
    let mut report = Report { photos: samples, written: 0, bytes: 0 };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| work.run())).collect();
        for thread in threads {
            let (written, bytes) =
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            report.written += written;
            report.bytes += bytes;
        }
        Ok::<(), io::Error>(())
    })?;
    folder.write_labels()?;
    Ok(report)
}

/// What the threads share.
struct Work<'a> {
    folder: &'a Folder,
    samples: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    failed: AtomicBool,
    progress: &'a (dyn Fn(usize) + Sync),
}

impl Work<'_> {
    /// Makes photos until there are no more to make; tells how many it wrote and the bytes of all
    /// that it saw to.
    fn run(&self) -> io::Result<(usize, u64)> {
        let (mut written, mut bytes) = (0, 0);
        while !self.failed.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.samples {
                break;
            }
            let (made, size) =
                self.one(number).inspect_err(|_| self.failed.store(true, Ordering::Relaxed))?;
            written += usize::from(made);
            bytes += size;
            (self.progress)(self.done.fetch_add(1, Ordering::Relaxed) + 1);
        }
        Ok((written, bytes))
    }

    fn one(&self, number: usize) -> io::Result<(bool, u64)> {
        let path = self.folder.photo(number);
        if let Ok(there) = fs::metadata(&path)
            && there.len() > 0
        {
            return Ok((false, there.len()));
        }
        let jpeg = photo::jpeg(number)?;
        folder::write(&path, &jpeg)?;
        Ok((true, jpeg.len() as u64))
    }
}

#[cfg(test)]
mod tests;
