//! The one kind of memory that samples live in: page-aligned, pooled, with room in front.
//!
//! * Page-aligned, because the kernel copies from and to buffers that start 1 to 16 bytes past a
//!   page several times slower than from aligned ones.
//! * Pooled, because a fresh 600 KB allocation costs 150 page faults, more than many steps.
//! * Shared by clones until one of them is written to, so that what is kept in memory is handed out
//!   without a copy.
//! * With [`HEADROOM`] bytes in front of the payload, so that a header (of a cache record, of a
//!   `.npy` file) can be put before it without moving it.
//!
//! It knows nothing about what the bytes mean.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use parking_lot::Mutex;

/// Bytes that can be put in front of a payload without copying it: what the header of a cache
/// record takes, and of a `.npy` file.
pub const HEADROOM: usize = 128;

const PAGE: usize = 4096;

#[repr(C, align(4096))]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Page([u8; PAGE]);

/// A run of bytes that can be grown at the front by up to [`HEADROOM`]. A clone shares them; writing
/// to one of several makes it a copy of its own first.
#[derive(Clone)]
pub struct Buffer {
    pages: Arc<Vec<Page>>,
    start: usize,
    end: usize,
}

impl Buffer {
    /// A buffer of `len` bytes to be overwritten: what it holds until then is not specified (it
    /// may be an earlier sample's).
    pub fn for_overwrite(len: usize) -> Buffer {
        Buffer { pages: Arc::new(pages_for(HEADROOM + len)), start: HEADROOM, end: HEADROOM + len }
    }

    /// A buffer that holds a copy of `bytes` and takes [`kept_size`](Self::kept_size) of memory: to
    /// be kept for long. (Others take up to twice as much, so that they can be used again.)
    pub fn to_keep(bytes: &[u8]) -> Buffer {
        let pages = zeroed_pages((HEADROOM + bytes.len()).div_ceil(PAGE));
        let mut buffer =
            Buffer { pages: Arc::new(pages), start: HEADROOM, end: HEADROOM + bytes.len() };
        buffer.copy_from_slice(bytes);
        buffer
    }

    /// Bytes of memory that a buffer made [`to_keep`](Self::to_keep) `len` bytes takes.
    pub fn kept_size(len: usize) -> usize {
        (HEADROOM + len).div_ceil(PAGE) * PAGE
    }

    /// A buffer of `len` zero bytes.
    pub fn zeroed(len: usize) -> Buffer {
        let mut buffer = Buffer::for_overwrite(len);
        buffer.fill(0);
        buffer
    }

    /// A buffer that holds a copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> Buffer {
        let mut buffer = Buffer::for_overwrite(bytes.len());
        buffer.copy_from_slice(bytes);
        buffer
    }

    /// Makes the buffer `n` bytes longer at the front and gives those bytes, to be overwritten.
    ///
    /// # Panics
    /// If fewer than `n` bytes are free in front; a new buffer has [`HEADROOM`] of them.
    pub fn grow_front(&mut self, n: usize) -> &mut [u8] {
        assert!(n <= self.start, "{n} bytes wanted in front of a buffer that has {}", self.start);
        self.start -= n;
        &mut self[..n]
    }

    /// How many bytes [`grow_front`](Self::grow_front) can still give.
    pub fn free_in_front(&self) -> usize {
        self.start
    }

    /// Drops the first `n` bytes.
    ///
    /// # Panics
    /// If the buffer is shorter than `n`.
    pub fn drop_front(&mut self, n: usize) {
        assert!(n <= self.len(), "{n} bytes dropped from a buffer of {}", self.len());
        self.start += n;
    }

    /// Keeps the first `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.end = self.end.min(self.start + len);
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.pages)[self.start..self.end]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        if Arc::get_mut(&mut self.pages).is_none() {
            let mut own = pages_for(self.end);
            bytemuck::cast_slice_mut(&mut own)[self.start..self.end].copy_from_slice(self);
            self.pages = Arc::new(own);
        }
        let pages = Arc::get_mut(&mut self.pages).expect("shared pages were just replaced");
        &mut bytemuck::cast_slice_mut(pages)[self.start..self.end]
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Buffer) -> bool {
        **self == **other
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(pages) = Arc::get_mut(&mut self.pages) {
            POOL.give(std::mem::take(pages));
        }
    }
}

/// Pages for so many bytes, a power of two of them, with anything in them.
fn pages_for(bytes: usize) -> Vec<Page> {
    let wanted = bytes.div_ceil(PAGE).next_power_of_two();
    POOL.take(wanted).unwrap_or_else(|| zeroed_pages(wanted))
}

fn zeroed_pages(count: usize) -> Vec<Page> {
    bytemuck::allocation::zeroed_slice_box::<Page>(count).into_vec()
}

/// Freed memory, kept for the next buffer of the same power of two.
struct Pool {
    classes: [Mutex<Vec<Vec<Page>>>; CLASSES],
}

/// Classes of 1, 2, 4, … 16,384 pages (64 MiB); what is larger goes back to the allocator.
const CLASSES: usize = 15;

/// Memory that a class may keep, or four of its buffers if these are more: a class that is in use
/// always has some. All classes together stay below 700 MiB; those of less than 8 MiB, which nearly
/// all samples are in, below 200 MiB.
const KEPT_PER_CLASS: usize = 16 << 20;

static POOL: Pool = Pool { classes: [const { Mutex::new(Vec::new()) }; CLASSES] };

impl Pool {
    fn take(&self, pages: usize) -> Option<Vec<Page>> {
        self.class(pages)?.lock().pop()
    }

    fn give(&self, pages: Vec<Page>) {
        let most = (KEPT_PER_CLASS / (pages.len().max(1) * PAGE)).max(4);
        if let Some(class) = self.class(pages.len()) {
            let mut kept = class.lock();
            if kept.len() < most {
                kept.push(pages);
            }
        }
    }

    fn class(&self, pages: usize) -> Option<&Mutex<Vec<Vec<Page>>>> {
        if !pages.is_power_of_two() {
            return None;
        }
        self.classes.get(pages.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_starts_at_the_headroom_of_an_aligned_page() {
        let mut buffer = Buffer::copy_of(b"payload");
        assert_eq!(buffer.as_ptr().align_offset(64), 0);
        assert_eq!(buffer.free_in_front(), HEADROOM);
        buffer.grow_front(3).copy_from_slice(b"the");
        assert_eq!(&*buffer, b"thepayload");
        buffer.grow_front(HEADROOM - 3).fill(b'.');
        assert_eq!(buffer.as_ptr().align_offset(PAGE), 0);
        buffer.drop_front(HEADROOM);
        buffer.truncate(3);
        assert_eq!(&*buffer, b"pay");
    }

    #[test]
    fn freed_memory_is_used_again_and_zeroed_is_zero() {
        for _ in 0..100 {
            let mut buffer = Buffer::for_overwrite(100_000);
            buffer.fill(7);
            drop(buffer);
            assert!(Buffer::zeroed(100_000).iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn a_clone_is_the_same_memory_until_one_is_written_to() {
        let first = Buffer::to_keep(b"payload");
        let mut second = first.clone();
        assert_eq!(first.as_ptr(), second.as_ptr());
        second.grow_front(3).copy_from_slice(b"the");
        second[3] = b'P';
        assert_eq!((&*first, &*second), (&b"payload"[..], &b"thePayload"[..]));
        drop(first);
        assert_eq!(second.as_ptr(), second.clone().as_ptr());
        assert_eq!((Buffer::kept_size(4096 - HEADROOM), Buffer::kept_size(4096)), (4096, 8192));
    }

    #[test]
    fn an_empty_buffer_and_one_beyond_every_class_work() {
        assert!(Buffer::for_overwrite(0).is_empty());
        assert_eq!(Buffer::for_overwrite(70 << 20).len(), 70 << 20);
    }
}
