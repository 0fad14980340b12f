//! The hue of colours turned, in Pillow's 8-bit HSV.
//!
//! The conversions lose a little, also when nothing is turned: as in Pillow, where single and
//! double precision are mixed as here.

use super::{channels, pixels_mut};
use crate::sample::Array;

/// torchvision's `adjust_hue`: `factor` from −0.5 to 0.5 is half a circle in either direction. A
/// gray picture has no hue and stays as it is.
pub(super) fn hue(picture: &mut Array, factor: f64) {
    if channels(picture) == 1 {
        return;
    }
    let turn = (factor * 255.0) as i32 as u8;
    let turned: [Turned; 256] =
        std::array::from_fn(|hue| Turned::of((hue as u8).wrapping_add(turn)));
    for pixel in pixels_mut::<3>(picture) {
        let [hue, saturation, value] = to_hsv(*pixel);
        *pixel = to_rgb(turned[usize::from(hue)], saturation, value);
    }
}

/// Pillow's `rgb2hsv`.
fn to_hsv([r, g, b]: [u8; 3]) -> [u8; 3] {
    let (most, least) = (r.max(g).max(b), r.min(g).min(b));
    if most == least {
        return [0, 0, most];
    }
    let range = f32::from(most - least);
    let saturation = range / f32::from(most);
    let [rc, gc, bc] = [r, g, b].map(|value| f32::from(most - value) / range);
    let sixth = if r == most {
        bc - gc
    } else if g == most {
        (2.0 + f64::from(rc) - f64::from(bc)) as f32
    } else {
        (4.0 + f64::from(gc) - f64::from(rc)) as f32
    };
    // Between 5/6 and 2: this is its remainder by 1, and exact.
    let beyond = f64::from(sixth) / 6.0 + 1.0;
    let hue = (if beyond < 1.0 { beyond } else { beyond - 1.0 }) as f32;
    [(f64::from(hue) * 255.0) as u8, (f64::from(saturation) * 255.0) as u8, most]
}

/// Where a hue is in the circle of six colours.
#[derive(Clone, Copy)]
struct Turned {
    /// The colour before it.
    sixth: u8,
    /// How far it is from there to the next.
    part: f32,
}

impl Turned {
    fn of(hue: u8) -> Turned {
        let turned = f64::from(hue) * 6.0 / 255.0;
        Turned { sixth: turned as u8, part: (turned - turned.floor()) as f32 }
    }
}

/// Pillow's `hsv2rgb`.
fn to_rgb(Turned { sixth, part }: Turned, saturation: u8, value: u8) -> [u8; 3] {
    if saturation == 0 {
        return [value; 3];
    }
    let saturation = (f64::from(saturation) / 255.0) as f32;
    let v = f64::from(value);
    // As `f64::round` of what isn't negative, which is a call on processors before SSE 4.1.
    let rounded = |x: f64| {
        let whole = x as u8;
        whole + u8::from(x - f64::from(whole) >= 0.5)
    };
    let p = rounded(v * (1.0 - f64::from(saturation)));
    let q = rounded(v * (1.0 - f64::from(saturation * part)));
    let t = rounded(v * (1.0 - f64::from(saturation) * (1.0 - f64::from(part))));
    match sixth {
        1 => [q, value, p],
        2 => [p, value, t],
        3 => [p, q, value],
        4 => [t, p, value],
        5 => [value, p, q],
        _ => [value, t, p],
    }
}
