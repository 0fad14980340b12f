//! Which magnitudes each operation may have: torchvision's augmentation spaces.
//!
//! They know no picture but its size, and no random numbers.

use super::Operation;

/// An operation without its magnitude, by torchvision's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Identity,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    Rotate,
    Brightness,
    Color,
    Contrast,
    Sharpness,
    Posterize,
    Solarize,
    AutoContrast,
    Equalize,
    Invert,
}

/// What `rand_augment` and `trivial_augment_wide` choose from, in torchvision's order.
pub(super) const CHOICES: [Name; 14] = [
    Name::Identity,
    Name::ShearX,
    Name::ShearY,
    Name::TranslateX,
    Name::TranslateY,
    Name::Rotate,
    Name::Brightness,
    Name::Color,
    Name::Contrast,
    Name::Sharpness,
    Name::Posterize,
    Name::Solarize,
    Name::AutoContrast,
    Name::Equalize,
];

/// The largest magnitudes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    shear: f64,
    translate: Translate,
    rotate: f64,
    enhance: f64,
    posterize: f64,
}

#[derive(Clone, Copy, Debug)]
enum Translate {
    /// A part of the picture's side.
    Part(f64),
    Pixels(f64),
}

/// That of `rand_augment` and `auto_augment`.
pub(super) const NARROW: Space = Space {
    shear: 0.3,
    translate: Translate::Part(150.0 / 331.0),
    rotate: 30.0,
    enhance: 0.9,
    posterize: 4.0,
};

/// That of `trivial_augment_wide`.
pub(super) const WIDE: Space = Space {
    shear: 0.99,
    translate: Translate::Pixels(32.0),
    rotate: 135.0,
    enhance: 0.99,
    posterize: 6.0,
};

/// Which of how many magnitudes, from 0 on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bin {
    pub(super) index: usize,
    /// 2 or more.
    pub(super) of: usize,
}

impl Bin {
    /// torch's `linspace` in single precision: from both ends to the middle, each sum fused.
    fn between(self, low: f64, high: f64) -> f64 {
        let (low, high) = (low as f32, high as f32);
        let step = (high - low) / (self.of - 1) as f32;
        f64::from(if self.index < self.of / 2 {
            step.mul_add(self.index as f32, low)
        } else {
            (-step).mul_add((self.of - 1 - self.index) as f32, high)
        })
    }
}

impl Name {
    /// Whether it has a magnitude.
    pub(super) fn has_magnitude(self) -> bool {
        use Name::{AutoContrast, Equalize, Identity, Invert};
        !matches!(self, Identity | AutoContrast | Equalize | Invert)
    }

    /// Whether its magnitude may also be negative.
    pub(super) fn is_signed(self) -> bool {
        self.has_magnitude() && !matches!(self, Name::Posterize | Name::Solarize)
    }

    /// The operation of this magnitude.
    pub(super) fn with(self, magnitude: f64) -> Operation {
        match self {
            Name::Identity => Operation::Identity,
            Name::ShearX => Operation::ShearX(magnitude),
            Name::ShearY => Operation::ShearY(magnitude),
            Name::TranslateX => Operation::TranslateX(magnitude),
            Name::TranslateY => Operation::TranslateY(magnitude),
            Name::Rotate => Operation::Rotate(magnitude),
            Name::Brightness => Operation::Brightness(1.0 + magnitude),
            Name::Color => Operation::Color(1.0 + magnitude),
            Name::Contrast => Operation::Contrast(1.0 + magnitude),
            Name::Sharpness => Operation::Sharpness(1.0 + magnitude),
            Name::Posterize => Operation::Posterize(magnitude as u8),
            Name::Solarize => Operation::Solarize(magnitude),
            Name::AutoContrast => Operation::AutoContrast,
            Name::Equalize => Operation::Equalize,
            Name::Invert => Operation::Invert,
        }
    }
}

impl Space {
    /// A magnitude of an operation on a picture of this height and width; 0 if it has none.
    pub(super) fn magnitude(self, name: Name, bin: Bin, [height, width]: [usize; 2]) -> f64 {
        let translated = |side: usize| match self.translate {
            Translate::Part(part) => part * side as f64,
            Translate::Pixels(pixels) => pixels,
        };
        match name {
            Name::ShearX | Name::ShearY => bin.between(0.0, self.shear),
            Name::TranslateX => bin.between(0.0, translated(width)),
            Name::TranslateY => bin.between(0.0, translated(height)),
            Name::Rotate => bin.between(0.0, self.rotate),
            Name::Brightness | Name::Color | Name::Contrast | Name::Sharpness => {
                bin.between(0.0, self.enhance)
            }
            Name::Posterize => {
                let bits = ((bin.of - 1) as f64 / self.posterize) as f32;
                8.0 - f64::from((bin.index as f32 / bits).round_ties_even())
            }
            Name::Solarize => bin.between(255.0, 0.0),
            Name::Identity | Name::AutoContrast | Name::Equalize | Name::Invert => 0.0,
        }
    }
}
