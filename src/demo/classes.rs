//! The ten classes: a name, and what sets a class's pictures apart.
//!
//! Plain numbers; what a picture does with them is the scene's.

/// What the pictures of one class have in common.
pub(super) struct Class {
    /// The name of its folder.
    pub(super) name: &'static str,
    /// Colour at the top and at the bottom of the background, RGB.
    pub(super) ground: [[u8; 3]; 2],
    /// Colours of the things in it, RGB.
    pub(super) things: [[u8; 3]; 4],
    /// How strong grain and fibres are on the things, 1 being common.
    pub(super) grain: f32,
    /// See `grain`.
    pub(super) fibre: f32,
    /// How many things there are, at most.
    pub(super) most: u32,
    /// Whether things are ragged (1) or smooth (0).
    pub(super) ragged: f32,
}

/// In the order of their names.
pub(super) const CLASSES: [Class; 10] = [
    class("bark", [[92, 78, 62], [60, 48, 38]], BARK, [1.0, 1.6], 90, 0.7),
    class("cloud", [[70, 118, 178], [170, 192, 214]], CLOUD, [0.5, 0.1], 60, 1.0),
    class("dune", [[140, 176, 208], [214, 178, 122]], DUNE, [0.7, 0.7], 50, 0.4),
    class("fern", [[46, 66, 34], [28, 40, 24]], FERN, [0.7, 1.6], 260, 0.5),
    class("heather", [[168, 180, 190], [84, 92, 54]], HEATHER, [1.3, 1.0], 300, 0.9),
    class("lichen", [[128, 124, 116], [104, 98, 92]], LICHEN, [1.4, 0.3], 160, 1.0),
    class("meadow", [[150, 184, 214], [96, 130, 52]], MEADOW, [0.9, 1.5], 220, 0.6),
    class("pebble", [[120, 112, 104], [84, 80, 78]], PEBBLE, [0.8, 0.2], 280, 0.1),
    class("reef", [[24, 92, 140], [16, 52, 84]], REEF, [1.1, 0.7], 180, 0.8),
    class("roof", [[158, 182, 208], [110, 96, 90]], ROOF, [0.7, 0.9], 120, 0.05),
];

const fn class(
    name: &'static str,
    ground: [[u8; 3]; 2],
    things: [[u8; 3]; 4],
    [grain, fibre]: [f32; 2],
    most: u32,
    ragged: f32,
) -> Class {
    Class { name, ground, things, grain, fibre, most, ragged }
}

const BARK: [[u8; 3]; 4] = [[120, 100, 78], [58, 46, 36], [150, 136, 116], [86, 92, 60]];
const CLOUD: [[u8; 3]; 4] = [[236, 238, 242], [196, 204, 216], [150, 164, 186], [246, 232, 214]];
const DUNE: [[u8; 3]; 4] = [[226, 192, 138], [188, 146, 94], [150, 112, 72], [238, 212, 166]];
const FERN: [[u8; 3]; 4] = [[76, 118, 44], [112, 150, 62], [46, 82, 34], [150, 170, 84]];
const HEATHER: [[u8; 3]; 4] = [[142, 84, 132], [108, 60, 98], [92, 104, 60], [170, 122, 158]];
const LICHEN: [[u8; 3]; 4] = [[186, 190, 150], [204, 168, 74], [142, 152, 138], [96, 92, 88]];
const MEADOW: [[u8; 3]; 4] = [[112, 148, 58], [150, 166, 76], [206, 176, 66], [196, 94, 92]];
const PEBBLE: [[u8; 3]; 4] = [[150, 144, 138], [104, 98, 98], [184, 174, 160], [132, 104, 88]];
const REEF: [[u8; 3]; 4] = [[196, 110, 92], [206, 152, 86], [84, 126, 130], [150, 84, 124]];
const ROOF: [[u8; 3]; 4] = [[164, 82, 60], [136, 68, 54], [190, 178, 160], [88, 88, 94]];
