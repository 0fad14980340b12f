//! A picture made of what photos are made of: things of all sizes that hide each other, each with
//! its own colour, light and texture.
//!
//! Overlapping things with sizes spread by a power law (the "dead leaves" model: Lee, Mumford,
//! Huang, "Occlusion Models for Natural Images", IJCV 2001) give the spectrum and the edges of
//! natural images. It knows nothing of JPEG, file names or folders.

use super::classes::Class;
use super::noise::{self, Stream};
use super::texture::{EDGE, Field, wrapped};
use super::thing::{Look, Thing};

/// Luma and two chroma planes, about 0 to 255 and about ±128.
pub(super) struct Scene {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) planes: [Vec<f32>; 3],
}

/// The fields that the textures of one picture are cut from.
pub(super) struct Fields {
    pub(super) grain: Field,
    pub(super) fibre: Field,
    pub(super) smooth: Field,
}

impl Scene {
    /// The picture that the stream decides on.
    pub(super) fn of(class: &Class, width: usize, height: usize, stream: &mut Stream) -> Scene {
        let grain = Field::octaves(stream.bits(), stream.within(0.84, 1.0), 1);
        let slope = stream.within(-1.2, 1.2);
        let across = stream.chance(0.4);
        let fibre = Field::fibres(stream.bits(), slope, across, stream.within(0.72, 0.92));
        let smooth = Field::octaves(stream.bits(), 0.7, 4);
        let fields = Fields { grain, fibre, smooth };

        let planes = [0, 1, 2].map(|_| vec![0.0; width * height]);
        let mut scene = Scene { width, height, planes };
        // Some photos are all detail, some are out of focus.
        let detail = stream.within(0.25, 1.0);
        scene.fill(class, detail, &fields, stream);
        for _ in 0..class.most / 2 + stream.below(class.most * 3 / 2) {
            Thing::of(class, width, height, detail, stream).paint(&mut scene, &fields);
        }
        scene.light(&fields, stream);
        scene.noise(stream);
        scene
    }

    /// The background: one colour above the horizon, another below, both textured.
    fn fill(&mut self, class: &Class, detail: f32, fields: &Fields, stream: &mut Stream) {
        let [top, bottom] = class.ground.map(ycc);
        let horizon = stream.within(0.2, 0.8);
        let steep = stream.within(1.0, 12.0);
        let look = Look::of(class, detail * 0.6, stream);
        for y in 0..self.height {
            let down = (y as f32 / self.height as f32 - horizon) * steep;
            for x in 0..self.width {
                let (texture, wave) = look.at(fields, x as i32, y as i32);
                let share = (down + wave * 0.3 + 0.5).clamp(0.0, 1.0);
                for (plane, out) in self.planes.iter_mut().enumerate() {
                    let colour = top[plane] + (bottom[plane] - top[plane]) * share;
                    out[y * self.width + x] = colour + texture[plane] * (0.3 + share * 0.7);
                }
            }
        }
    }

    /// Light and shadow that fall over everything, and a contrast for the whole.
    fn light(&mut self, fields: &Fields, stream: &mut Stream) {
        let [x0, y0] = [0, 1].map(|_| stream.below(EDGE as u32) as i32);
        let shadow = stream.within(0.06, 0.2);
        let bright = stream.within(0.8, 1.15);
        let contrast = stream.within(1.0, 1.5);
        let [luma, blue, red] = &mut self.planes;
        for y in 0..self.height {
            let row = fields.smooth.row(y as i32 / 2 + y0);
            let at = y * self.width;
            for x in 0..self.width {
                let light = (1.0 + row[wrapped(x as i32 / 2 + x0)] * shadow).max(0.3);
                luma[at + x] = (luma[at + x] * light * bright - 118.0) * contrast + 118.0;
                blue[at + x] *= light;
                red[at + x] *= light;
            }
        }
    }

    /// What a sensor adds: fine noise, more of it in the light.
    fn noise(&mut self, stream: &mut Stream) {
        let seed = stream.bits();
        let strength = stream.within(0.7, 2.2);
        let [luma, blue, red] = &mut self.planes;
        for (at, ((luma, blue), red)) in luma.iter_mut().zip(blue).zip(red).enumerate() {
            *luma += noise::bell(seed, at as u64) * (0.6 + *luma * 0.004) * strength;
            let [one, other, ..] = noise::even(!seed, at as u64);
            *blue += one * strength * 0.5;
            *red += other * strength * 0.5;
        }
    }

    /// The picture as 8-bit RGB.
    pub(super) fn rgb(&self) -> Vec<u8> {
        let [luma, blue, red] = &self.planes;
        let mut rgb = Vec::with_capacity(luma.len() * 3);
        for ((y, cb), cr) in luma.iter().zip(blue).zip(red) {
            rgb.extend([y + 1.402 * cr, y - 0.344 * cb - 0.714 * cr, y + 1.772 * cb].map(byte));
        }
        rgb
    }

    /// The picture as 8-bit grey.
    pub(super) fn grey(&self) -> Vec<u8> {
        self.planes[0].iter().copied().map(byte).collect()
    }
}

/// The colour as luma and two chroma values around 0.
pub(super) fn ycc(rgb: [u8; 3]) -> [f32; 3] {
    let [red, green, blue] = rgb.map(f32::from);
    let luma = 0.299 * red + 0.587 * green + 0.114 * blue;
    [luma, (blue - luma) * 0.564, (red - luma) * 0.713]
}

/// The nearest byte: the cast holds what is too small or too large to 0 and 255.
fn byte(value: f32) -> u8 {
    (value + 0.5) as u8
}
