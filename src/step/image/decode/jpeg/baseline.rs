//! Baseline files, fast: only the rows and columns that are asked for become pixels.
//!
//! MCUs before the region are read past, those behind it only looked through for markers. One row
//! of MCUs is in memory at a time. Whatever is out of the ordinary is declined: the caller's
//! general decoder has the last word on it, and on every error.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use super::bits::{Input, WINDOW, Window, ends_well, restart};
use super::block::{self, Block, Codes};
use super::header::{Header, Sampling};
use super::huffman::{Cache, Table};
#[cfg(target_arch = "x86_64")]
use super::machine::Detected;
use super::machine::Machine;
use super::plane::{Plane, Wanted};
use super::{idct, output};
use crate::step::image::decode::Dimensions;

/// This decoder doesn't do that file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::step::image::decode) struct Declined;

/// A rectangle of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::step::image::decode) struct Region {
    pub(in crate::step::image::decode) top: usize,
    pub(in crate::step::image::decode) left: usize,
    pub(in crate::step::image::decode) height: usize,
    pub(in crate::step::image::decode) width: usize,
}

/// What a pixel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::step::image::decode) enum Channels {
    /// Lightness: only of files that have nothing else.
    L,
    Rgb,
}

/// What a thread keeps from one picture to the next, so that none takes memory anew.
#[derive(Debug, Default)]
struct Scratch {
    window: Option<Box<Window>>,
    tables: Cache,
    planes: [Plane; 3],
    rows: [Vec<u8>; 2],
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Decodes a region of a picture to `out`, row by row without gaps; or declines, and then what is
/// in `out` means nothing. A region that isn't inside the picture is declined too.
///
/// # Panics
/// If a region inside the picture doesn't fit in `out`.
pub(in crate::step::image::decode) fn decode(
    bytes: &[u8],
    region: Region,
    channels: Channels,
    out: &mut [u8],
) -> Result<(), Declined> {
    decode_on(Machine::this(), bytes, region, channels, out)
}

/// As `decode`, in the way of a machine.
pub(super) fn decode_on(
    machine: Machine,
    bytes: &[u8],
    region: Region,
    channels: Channels,
    out: &mut [u8],
) -> Result<(), Declined> {
    let mut scratch = SCRATCH.take().unwrap_or_default();
    let done = Header::read(bytes).and_then(|header| {
        let picture = Picture::new(machine, &header, region, channels, &mut scratch.tables)?;
        picture.decode(bytes, header.data, &mut scratch, out)
    });
    SCRATCH.set(Some(scratch));
    done
}

/// A component, and which part of it is wanted.
#[derive(Debug)]
struct Component {
    dc: Rc<Table>,
    ac: Rc<Table>,
    quantization: [i16; 64],
    /// Blocks in an MCU, across and down.
    across: usize,
    down: usize,
    /// The blocks that are wanted.
    columns: Range<usize>,
    rows: Range<usize>,
}

/// What is to be done.
#[derive(Debug)]
struct Picture {
    machine: Machine,
    size: Dimensions,
    sampling: Sampling,
    components: Vec<Component>,
    restart_interval: usize,
    /// MCUs across and down.
    mcus: Dimensions,
    region: Region,
    channels: Channels,
}

impl Picture {
    fn new(
        machine: Machine,
        header: &Header<'_>,
        region: Region,
        channels: Channels,
        tables: &mut Cache,
    ) -> Result<Picture, Declined> {
        let Header { size, sampling, .. } = *header;
        let inside = |start: usize, length: usize, whole| {
            length > 0 && start.checked_add(length).is_some_and(|end| end <= whole)
        };
        let fits = inside(region.top, region.height, size.height)
            && inside(region.left, region.width, size.width);
        let gray = header.components.len() == 1;
        // libjpeg doesn't smooth pictures this narrow.
        let narrow = sampling.across == 2 && size.width <= 4;
        if !fits || narrow || (channels == Channels::L && !gray) {
            return Err(Declined);
        }
        let wanted = Wanted { size, sampling, region };
        let components = header.components.iter().enumerate().map(|(i, component)| {
            // The symbols of first coefficients are sizes only, without a run.
            if component.dc.symbols.iter().any(|size| *size > 15) {
                return Err(Declined);
            }
            let chroma = i > 0;
            Ok(Component {
                dc: tables.table(component.dc)?,
                ac: tables.table(component.ac)?,
                quantization: component.quantization,
                across: if chroma { 1 } else { sampling.across },
                down: if chroma { 1 } else { sampling.down },
                columns: blocks(wanted.columns(chroma)),
                rows: blocks(wanted.rows(chroma)),
            })
        });
        Ok(Picture {
            machine,
            size,
            sampling,
            components: components.collect::<Result<_, _>>()?,
            restart_interval: header.restart_interval,
            mcus: Dimensions {
                height: size.height.div_ceil(8 * sampling.down),
                width: size.width.div_ceil(8 * sampling.across),
            },
            region,
            channels,
        })
    }

    fn decode(
        &self,
        bytes: &[u8],
        start: usize,
        scratch: &mut Scratch,
        out: &mut [u8],
    ) -> Result<(), Declined> {
        let window = scratch.window.take().unwrap_or_else(|| Box::new([0; WINDOW]));
        let mut input = Input::new(bytes, start, window);
        let done = self.rows(&mut input, scratch, out);
        scratch.window = Some(input.into_window());
        done
    }

    fn rows(
        &self,
        input: &mut Input<'_>,
        scratch: &mut Scratch,
        out: &mut [u8],
    ) -> Result<(), Declined> {
        let Scratch { planes, rows, .. } = scratch;
        let context = usize::from(self.sampling.down == 2);
        for (plane, component) in planes.iter_mut().zip(&self.components) {
            plane.reset(&component.columns, component.down, context);
        }
        // The last MCU that is wanted: in the last row, and behind the others there.
        let of = |end: usize, per_mcu: usize| end.div_ceil(per_mcu);
        let last_row = self.components.iter().map(|c| of(c.rows.end, c.down)).max();
        let last_column = self.components.iter().map(|c| of(c.columns.end, c.across)).max();
        let (Some(height), Some(width)) = (last_row, last_column) else { return Err(Declined) };

        let mut state = State { dc: [0; 3], until_restart: self.restart_interval, restarts: 0 };
        let mut output = output::Output {
            machine: self.machine,
            wanted: Wanted { size: self.size, sampling: self.sampling, region: self.region },
            channels: self.channels,
            gray: self.components.len() == 1,
            rows,
        };
        for row in 0..height {
            for plane in &mut planes[..self.components.len()] {
                plane.carry();
            }
            let mcus = if row + 1 == height { width } else { self.mcus.width };
            self.row(input, &mut state, planes, row, mcus)?;
            output.emit(planes, row, row + 1 == self.mcus.height, out);
        }
        self.finish(input, &state, (height, width))
    }

    fn row(
        &self,
        input: &mut Input<'_>,
        state: &mut State,
        planes: &mut [Plane; 3],
        row: usize,
        mcus: usize,
    ) -> Result<(), Declined> {
        match self.machine {
            Machine::Any => self.mcus(Machine::Any, input, state, planes, row, mcus),
            #[cfg(target_arch = "x86_64")]
            Machine::Avx2(detected) => {
                #[expect(unsafe_code, reason = "may be called only where there are these")]
                // SAFETY: they were detected.
                unsafe {
                    self.mcus_avx2(detected, input, state, planes, row, mcus)
                }
            }
        }
    }

    /// `mcus` with the instructions that make it fast.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
    fn mcus_avx2(
        &self,
        detected: Detected,
        input: &mut Input<'_>,
        state: &mut State,
        planes: &mut [Plane; 3],
        row: usize,
        mcus: usize,
    ) -> Result<(), Declined> {
        self.mcus(Machine::Avx2(detected), input, state, planes, row, mcus)
    }

    /// Reads a row of MCUs.
    #[inline(always)]
    fn mcus(
        &self,
        machine: Machine,
        input: &mut Input<'_>,
        state: &mut State,
        planes: &mut [Plane; 3],
        row: usize,
        mcus: usize,
    ) -> Result<(), Declined> {
        let mut block = Block([0; 64]);
        for mcu in 0..mcus {
            if self.restart_interval > 0 {
                if state.until_restart == 0 {
                    input.pass(restart(state.restarts))?;
                    *state = State {
                        dc: [0; 3],
                        until_restart: self.restart_interval,
                        restarts: state.restarts + 1,
                    };
                }
                state.until_restart -= 1;
            }
            input.prepare();
            let mut bits = input.bits;
            for ((component, plane), dc) in
                self.components.iter().zip(planes.iter_mut()).zip(&mut state.dc)
            {
                let codes = Codes { dc: &component.dc, ac: &component.ac };
                for down in 0..component.down {
                    let wanted = component.rows.contains(&(row * component.down + down));
                    for across in 0..component.across {
                        let column = mcu * component.across + across;
                        if !wanted || !component.columns.contains(&column) {
                            block::skip(&mut bits, input.window(), codes, dc)?;
                            continue;
                        }
                        let last = block::read(&mut bits, input.window(), codes, dc, &mut block)?;
                        let (samples, stride) = plane.block(down, column);
                        transform(machine, &block, last, &component.quantization, samples, stride)?;
                        block.0.fill(0);
                    }
                }
            }
            input.bits = bits;
            input.check()?;
        }
        Ok(())
    }

    /// Makes sure that the file goes on and ends as it should behind the last MCU that was read.
    fn finish(
        &self,
        input: &mut Input<'_>,
        state: &State,
        (height, width): (usize, usize),
    ) -> Result<(), Declined> {
        if (height, width) == (self.mcus.height, self.mcus.width) {
            return input.pass(0xd9);
        }
        let mcus = self.mcus.height * self.mcus.width;
        let restarts = match self.restart_interval {
            0 => 0,
            interval => (mcus - 1) / interval,
        };
        if ends_well(input.rest(), state.restarts..restarts) { Ok(()) } else { Err(Declined) }
    }
}

/// Where in the entropy-coded data the decoder is, beyond the bits.
#[derive(Clone, Copy, Debug)]
struct State {
    /// The first coefficients of the components' last blocks.
    dc: [i16; 3],
    /// MCUs to read before the next restart marker.
    until_restart: usize,
    /// Restart markers that were read.
    restarts: usize,
}

/// The samples of a block whose last coefficient in the order of the file is at `last`.
#[inline(always)]
fn transform(
    machine: Machine,
    block: &Block,
    last: usize,
    quantization: &[i16; 64],
    samples: &mut [u8],
    stride: usize,
) -> Result<(), Declined> {
    // Places where a block can end that has coefficients in its first row only.
    const FIRST_ROW: u64 = 1 << 1 | 1 << 5 | 1 << 6 | 1 << 14 | 1 << 15 | 1 << 27 | 1 << 28;
    if last == 0 {
        idct::flat(block.0[0], quantization[0], samples, stride);
        return Ok(());
    }
    if FIRST_ROW >> last & 1 == 1 && idct::is_wild(block, quantization) {
        return Err(Declined);
    }
    machine.block(block, quantization, samples, stride);
    Ok(())
}

/// The blocks that have these samples.
fn blocks(samples: Range<usize>) -> Range<usize> {
    samples.start / 8..samples.end.div_ceil(8)
}
