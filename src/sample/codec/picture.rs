//! A reversible filter that makes 8-bit pictures easier to compress: what neighbouring channels and
//! rows have in common is taken out.
//!
//! Of three channels or four, green is subtracted from red and blue, since edges and brightness are
//! in all of them (as in lossless WebP, RFC 9649, 4.3). Channels are then put apart, and from each
//! row the one above is subtracted (PNG's filter `Up`). All modulo 256. Prediction from more
//! neighbours (Paeth's) packs a tenth tighter, and undoing it is several times slower, since every
//! value then waits for its left neighbour.
//!
//! It knows no compressor.

use crate::sample::{Buffer, Dtype, Layout, Spec};

/// How the bytes of an 8-bit picture lie: rows of pixels of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    height: usize,
    width: usize,
    channels: usize,
}

impl Grid {
    /// Of a sample; `None` if it isn't an 8-bit HWC picture of 1 to 4 channels.
    pub(super) fn of(spec: &Spec) -> Option<Grid> {
        let array = spec.array()?;
        let (Dtype::Uint8, Layout::Hwc) = (array.dtype, array.layout) else { return None };
        match *array.shape()?.as_slice() {
            [height, width, channels @ 1..=4] if height > 0 && width > 0 => {
                Some(Grid { height, width, channels })
            }
            _ => None,
        }
    }

    /// Bytes of such a picture.
    pub(super) fn bytes(self) -> usize {
        self.height * self.width * self.channels
    }

    /// The picture, filtered.
    pub(super) fn filter(self, pixels: &[u8]) -> Buffer {
        let mut planes = self.apart(pixels);
        for plane in planes.chunks_exact_mut(self.height * self.width) {
            // From the last row up: each still needs the row above as it was.
            for y in (1..self.height).rev() {
                let (above, row) = plane[(y - 1) * self.width..].split_at_mut(self.width);
                for (value, above) in row.iter_mut().zip(above) {
                    *value = value.wrapping_sub(*above);
                }
            }
        }
        planes
    }

    /// The picture that was filtered.
    pub(super) fn unfilter(self, mut planes: Buffer) -> Buffer {
        for plane in planes.chunks_exact_mut(self.height * self.width) {
            for y in 1..self.height {
                let (above, row) = plane[(y - 1) * self.width..].split_at_mut(self.width);
                for (value, above) in row.iter_mut().zip(above) {
                    *value = value.wrapping_add(*above);
                }
            }
        }
        self.together(planes)
    }

    /// Channels put apart, without what red and blue have of green.
    fn apart(self, pixels: &[u8]) -> Buffer {
        let mut planes = Buffer::for_overwrite(self.bytes());
        match self.channels {
            3 => {
                let (red, green, blue, _) = thirds(&mut planes, self.height * self.width);
                let planes = red.iter_mut().zip(green).zip(blue);
                for ([r, g, b], ((red, green), blue)) in pixels.as_chunks().0.iter().zip(planes) {
                    (*red, *green, *blue) = (r.wrapping_sub(*g), *g, b.wrapping_sub(*g));
                }
            }
            4 => {
                let (red, green, blue, alpha) = thirds(&mut planes, self.height * self.width);
                let planes = red.iter_mut().zip(green).zip(blue).zip(alpha);
                for ([r, g, b, a], (((red, green), blue), alpha)) in
                    pixels.as_chunks().0.iter().zip(planes)
                {
                    (*red, *green, *blue) = (r.wrapping_sub(*g), *g, b.wrapping_sub(*g));
                    *alpha = *a;
                }
            }
            channels => {
                for (channel, plane) in
                    planes.chunks_exact_mut(self.height * self.width).enumerate()
                {
                    let values = pixels[channel..].iter().step_by(channels);
                    plane.iter_mut().zip(values).for_each(|(to, from)| *to = *from);
                }
            }
        }
        planes
    }

    fn together(self, mut planes: Buffer) -> Buffer {
        if self.channels == 1 {
            return planes;
        }
        let mut pixels = Buffer::for_overwrite(self.bytes());
        match self.channels {
            3 => {
                let (red, green, blue, _) = thirds(&mut planes, self.height * self.width);
                let planes = red.iter().zip(green).zip(blue);
                for (pixel, ((r, g), b)) in pixels.as_chunks_mut().0.iter_mut().zip(planes) {
                    *pixel = [r.wrapping_add(*g), *g, b.wrapping_add(*g)];
                }
            }
            4 => {
                let (red, green, blue, alpha) = thirds(&mut planes, self.height * self.width);
                let planes = red.iter().zip(green).zip(blue).zip(alpha);
                for (pixel, (((r, g), b), a)) in pixels.as_chunks_mut().0.iter_mut().zip(planes) {
                    *pixel = [r.wrapping_add(*g), *g, b.wrapping_add(*g), *a];
                }
            }
            channels => {
                for (channel, plane) in planes.chunks_exact(self.height * self.width).enumerate() {
                    let values = pixels[channel..].iter_mut().step_by(channels);
                    values.zip(plane).for_each(|(to, from)| *to = *from);
                }
            }
        }
        pixels
    }
}

/// The first three planes of so many bytes, and the rest.
fn thirds(planes: &mut [u8], bytes: usize) -> (&mut [u8], &mut [u8], &mut [u8], &mut [u8]) {
    let (first, rest) = planes.split_at_mut(bytes);
    let (second, rest) = rest.split_at_mut(bytes);
    let (third, rest) = rest.split_at_mut(bytes);
    (first, second, third, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filtered_comes_back() {
        for (height, width, channels) in
            [(1, 1, 1), (1, 1, 4), (5, 1, 3), (1, 9, 3), (7, 6, 2), (13, 17, 3), (8, 3, 4)]
        {
            let grid = Grid { height, width, channels };
            let pixels: Vec<u8> = (0..grid.bytes()).map(|n| (n * n / 3 + n * 7) as u8).collect();
            let filtered = grid.filter(&pixels);
            assert_eq!(*grid.unfilter(filtered), *pixels, "{grid:?}");
        }
    }

    #[test]
    fn a_gray_ramp_down_the_picture_becomes_ones_and_zeros() {
        let grid = Grid { height: 4, width: 2, channels: 3 };
        let pixels: Vec<u8> = (0..4_u8).flat_map(|y| [y + 1; 6]).collect();
        let filtered = grid.filter(&pixels);
        assert_eq!(filtered[..8], [0; 8]);
        assert_eq!(filtered[8..16], [1; 8]);
        assert_eq!(filtered[16..], [0; 8]);
    }
}
