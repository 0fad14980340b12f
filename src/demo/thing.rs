//! One thing in a picture: a shape with a colour, shaded by the light and covered by a texture.
//!
//! It knows nothing of the other things; what is painted later hides what was painted before.

use super::classes::Class;
use super::noise::Stream;
use super::scene::{Fields, Scene, ycc};
use super::texture::{EDGE, wrapped};

/// Where a texture is cut from the fields, and how strong it is.
pub(super) struct Look {
    offsets: [i32; 2],
    grain: f32,
    fibre: f32,
    chroma: [f32; 2],
}

impl Look {
    pub(super) fn of(class: &Class, detail: f32, stream: &mut Stream) -> Look {
        Look {
            offsets: [0, 1].map(|_| stream.below(EDGE as u32) as i32),
            // Squared: most surfaces are smooth, a few are rough.
            grain: detail * class.grain * squared(stream.within(0.3, 1.0)) * 40.0,
            fibre: detail * class.fibre * squared(stream.unit()) * 26.0,
            chroma: [0, 1].map(|_| stream.within(-0.3, 0.3)),
        }
    }

    /// The texture at a point, for each plane, and a slow wave of variance 1.
    #[inline]
    pub(super) fn at(&self, fields: &Fields, x: i32, y: i32) -> ([f32; 3], f32) {
        let (column, row) = (wrapped(x + self.offsets[0]), y + self.offsets[1]);
        let grain = fields.grain.row(row)[column] * self.grain;
        let luma = grain + fields.fibre.row(row)[column] * self.fibre;
        let wave = fields.smooth.row(row)[column];
        // Colour varies with the grain and, less, on its own.
        let own = fields.grain.row(row + 201)[column] * self.grain;
        let blue = grain * self.chroma[0] + own * self.chroma[1];
        let red = own * self.chroma[0] - grain * self.chroma[1];
        ([luma, blue, red], wave)
    }
}

/// A shape at a place, with a look.
pub(super) struct Thing {
    centre: [f32; 2],
    /// Half its size: from the centre to the edge, without what is ragged.
    radius: f32,
    /// From pixels to the shape's own coordinates, where its edge is 1 away from its centre.
    axes: [[f32; 2]; 2],
    square: bool,
    ragged: f32,
    sharp: f32,
    colour: [f32; 3],
    shade: [f32; 2],
    look: Look,
}

impl Thing {
    pub(super) fn of(
        class: &Class,
        width: usize,
        height: usize,
        detail: f32,
        stream: &mut Stream,
    ) -> Thing {
        let short = width.min(height) as f32;
        // As many of each size as makes a picture look the same at any scale.
        let (least, most) = (0.018, 0.6);
        let spread = 1.0 - squared(least / most);
        let radius = least / (1.0 - stream.unit() * spread).sqrt() * short;
        let lean = stream.within(-1.0, 1.0);
        let scale = 1.0 / (1.0 + lean * lean);
        let (cos, sin) = ((1.0 - lean * lean) * scale, 2.0 * lean * scale);
        let slim = stream.within(1.0, 2.6);
        let mut colour = ycc(class.things[stream.below(4) as usize]);
        colour[0] += stream.within(-36.0, 36.0);
        colour[1] += stream.within(-5.0, 5.0);
        colour[2] += stream.within(-5.0, 5.0);
        Thing {
            centre: [stream.unit() * width as f32, stream.unit() * height as f32],
            radius,
            axes: [[cos / radius, sin / radius], [-sin / radius * slim, cos / radius * slim]],
            square: class.ragged < 0.1 && stream.chance(0.8),
            ragged: class.ragged * stream.within(0.05, 0.35),
            // What is out of focus has soft edges; a sharp edge takes about a pixel.
            sharp: radius * squared(stream.within(0.3, 1.0)) * detail,
            colour,
            shade: [stream.within(-34.0, 34.0), stream.within(-10.0, 44.0)],
            look: Look::of(class, detail, stream),
        }
    }

    pub(super) fn paint(&self, scene: &mut Scene, fields: &Fields) {
        let reach = self.radius * (1.0 + self.ragged * 2.0) + 2.0;
        let [columns, rows] = [(0, scene.width), (1, scene.height)].map(|(axis, size)| {
            let [low, high] = [-reach, reach].map(|by| (self.centre[axis] + by).max(0.0) as usize);
            low..(high + 1).min(size)
        });
        for y in rows {
            for x in columns.clone() {
                self.point(scene, fields, x, y);
            }
        }
    }

    #[inline]
    fn point(&self, scene: &mut Scene, fields: &Fields, x: usize, y: usize) {
        let (dx, dy) = (x as f32 - self.centre[0], y as f32 - self.centre[1]);
        let [u, v] = self.axes.map(|[along, down]| dx * along + dy * down);
        let away = if self.square { u.abs().max(v.abs()) } else { u * u + v * v };
        // The ragged edge reaches no further out than a field's few highest values do.
        if away > 1.2 + self.ragged * 4.0 {
            return;
        }
        let (texture, wave) = self.look.at(fields, x as i32, y as i32);
        let cover = ((1.0 - away + wave * self.ragged) * self.sharp + 0.5).clamp(0.0, 1.0);
        if cover <= 0.0 {
            return;
        }
        let light = u * self.shade[0] - v * self.shade[1];
        let at = y * scene.width + x;
        for (plane, out) in scene.planes.iter_mut().enumerate() {
            let lit = if plane == 0 { light } else { 0.0 };
            out[at] += (self.colour[plane] + lit + texture[plane] - out[at]) * cover;
        }
    }
}

fn squared(value: f32) -> f32 {
    value * value
}
