//! Huffman codes as tables: a few bits of the file tell a symbol, and often the number after it.
//!
//! It knows nothing of blocks: what a symbol means for them is in `block.rs`.

use std::rc::Rc;

use super::baseline::Declined;
use super::header::Code;

/// Bits that are looked up at once. Longer codes are searched for.
pub(super) const LOOKUP_BITS: u32 = 10;

/// What the next bits say.
///
/// Bits 0 to 7 are how many bits it takes: 0 if the code is longer than those looked up. Bits 8 to
/// 15 are the symbol. Bits 16 to 31 are the number that follows the code, if that was looked up
/// too; then the bits taken are those of both, and in place of the symbol is how many coefficients
/// it moves on by: one more than its run of zeros. Such a number is never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry(u32);

impl Entry {
    #[inline(always)]
    pub(super) fn bits(self) -> u32 {
        self.0 & 255
    }

    #[inline(always)]
    pub(super) fn symbol(self) -> u8 {
        (self.0 >> 8) as u8
    }

    #[inline(always)]
    pub(super) fn number(self) -> i16 {
        (self.0 >> 16) as i16
    }
}

/// A code, ready for decoding.
#[derive(Debug)]
pub(super) struct Table {
    lookup: [Entry; 1 << LOOKUP_BITS],
    /// For each length, the first number of 16 bits beyond its codes.
    beyond: [u32; 17],
    /// For each length, what to add to a code to get the place of its symbol.
    offset: [i32; 17],
    symbols: Vec<u8>,
    counts: [u8; 16],
}

impl Table {
    /// The table of a code; declined if it can't be a code.
    fn new(code: Code<'_>) -> Result<Table, Declined> {
        if code.symbols.len() > 256 {
            return Err(Declined);
        }
        let mut table = Table {
            lookup: [Entry::default(); 1 << LOOKUP_BITS],
            beyond: [0; 17],
            offset: [0; 17],
            symbols: code.symbols.to_vec(),
            counts: *code.counts,
        };
        let mut place = 0;
        let mut next: u32 = 0;
        for (bits, count) in (1..=16).zip(code.counts) {
            let count = u32::from(*count);
            if next + count > 1 << bits {
                return Err(Declined);
            }
            table.offset[bits as usize] = place as i32 - next as i32;
            for _ in 0..count {
                if bits <= LOOKUP_BITS {
                    table.enter(next, bits, code.symbols[place]);
                }
                next += 1;
                place += 1;
            }
            table.beyond[bits as usize] = next << (16 - bits);
            next <<= 1;
        }
        Ok(table)
    }

    fn enter(&mut self, code: u32, bits: u32, symbol: u8) {
        let size = u32::from(symbol & 15);
        let free = LOOKUP_BITS - bits;
        let first = (code << free) as usize;
        let entries = &mut self.lookup[first..first + (1 << free)];
        if size == 0 || size > free {
            entries.fill(Entry(u32::from(symbol) << 8 | bits));
            return;
        }
        let head = (u32::from(symbol >> 4) + 1) << 8 | (bits + size);
        let unused = free - size;
        for (value, same) in entries.chunks_exact_mut(1 << unused).enumerate() {
            let value = value as i32;
            let number = if value >> (size - 1) == 0 { value - (1 << size) + 1 } else { value };
            same.fill(Entry((number as u32) << 16 | head));
        }
    }

    /// What the first bits of `buffer` say; nothing is taken from it.
    #[inline(always)]
    pub(super) fn look(&self, buffer: u64) -> Entry {
        self.lookup[(buffer >> (64 - LOOKUP_BITS)) as usize]
    }

    /// A code too long to be looked up, at the start of `buffer`.
    #[cold]
    pub(super) fn search(&self, buffer: u64) -> Result<Entry, Declined> {
        let head = (buffer >> 48) as u32;
        for bits in LOOKUP_BITS + 1..=16 {
            if head < self.beyond[bits as usize] {
                let place = (head >> (16 - bits)) as i32 + self.offset[bits as usize];
                let symbol = usize::try_from(place).ok().and_then(|at| self.symbols.get(at));
                return symbol.map(|symbol| Entry(u32::from(*symbol) << 8 | bits)).ok_or(Declined);
            }
        }
        Err(Declined)
    }
}

/// The tables that were last built: most files use the same few.
#[derive(Debug, Default)]
pub(super) struct Cache {
    tables: Vec<Rc<Table>>,
    oldest: usize,
}

impl Cache {
    const CAPACITY: usize = 8;

    pub(super) fn table(&mut self, code: Code<'_>) -> Result<Rc<Table>, Declined> {
        let known = self
            .tables
            .iter()
            .find(|table| table.counts == *code.counts && table.symbols == code.symbols);
        if let Some(known) = known {
            return Ok(Rc::clone(known));
        }
        let table = Rc::new(Table::new(code)?);
        if self.tables.len() < Cache::CAPACITY {
            self.tables.push(Rc::clone(&table));
        } else {
            self.tables[self.oldest] = Rc::clone(&table);
            self.oldest = (self.oldest + 1) % Cache::CAPACITY;
        }
        Ok(table)
    }
}
