//! Neighbouring steps on 8-bit pictures done together: what no pixel that is served depends on is
//! neither decoded nor computed, and the last pass over the pixels does all that is left.
//!
//! A [`Run`] is made of the [`Part`]s that steps tell. Going backwards from what is served, it
//! finds the rectangle that each part needs of the one before; then it does them in order. The
//! result is that of the steps one by one, bit for bit: a rule that a test holds for every step.
//!
//! It knows neither pipelines nor draws: parts come with their numbers.

use std::ops::Range;

use super::paint::{Paint, Table, paint};
use super::resample::{Source, looked_at, resample};
use super::{Compat, DecodeImage, Filter, Window, array_in};
use crate::sample::{ArraySpec, Dim, Dtype, Layout, Sample, Spec};
use crate::step::StepError;

/// What a step does to one picture. All but the first and the last two take and make 8-bit
/// pictures of 1 to 4 channels, HWC.
#[derive(Clone, Debug)]
pub enum Part {
    /// A file's bytes become pixels.
    Decode(DecodeImage),
    /// Only a rectangle stays; it lies inside.
    Crop(Window),
    /// Left and right change places.
    Mirror,
    /// The picture is resampled.
    Resize {
        /// To this height and width.
        size: (usize, usize),
        /// With these weights.
        filter: Filter,
        /// As one of the Pillows does it.
        compat: Compat,
    },
    /// Each value is made of the same channel's value at the same place alone, in the same way
    /// everywhere.
    Values,
    /// The axes become CHW.
    ChannelsFirst,
}

/// Height and width of an 8-bit HWC picture of 1 to 4 channels, if all is known of it.
pub(super) fn small_picture(spec: &Spec) -> Option<(usize, usize)> {
    let array = spec.array()?;
    match (array.dtype, array.layout, array.shape()?.as_slice()) {
        (Dtype::Uint8, Layout::Hwc, &[height, width, 1..=4]) if height > 0 && width > 0 => {
            Some((height, width))
        }
        _ => None,
    }
}

/// Who runs the work of each step.
pub trait Worker {
    /// What a failure becomes.
    type Error;

    /// Runs the work of step `step`, and gives what it gives.
    ///
    /// # Errors
    /// If the work fails.
    fn work(
        &mut self,
        step: usize,
        work: impl FnOnce() -> Result<Sample, StepError>,
    ) -> Result<Sample, Self::Error>;

    /// Step `step`, which makes so many bytes, has no work of its own.
    fn no_work(&mut self, step: usize, bytes: usize);
}

/// Parts to be done together, each with the number of its step.
#[derive(Debug)]
pub struct Run {
    decode: Option<(usize, DecodeImage)>,
    moves: Vec<Move>,
    /// Steps that change values or axes, after all that move pixels.
    paints: Vec<usize>,
    values: Vec<usize>,
    channels_first: bool,
    /// Height and width of the first picture.
    from: (usize, usize),
    /// Height and width of what the parts so far make.
    size: (usize, usize),
    channels: usize,
    /// What of the first picture is needed; all of it until [`planned`](Self::planned).
    needed: Window,
}

/// A part that moves pixels.
#[derive(Debug)]
struct Move {
    step: usize,
    part: Part,
    /// Height and width of the picture that it takes.
    takes: (usize, usize),
    /// What of its result is needed.
    needed: Window,
}

impl Run {
    /// A run that starts with pictures of this spec, or with bytes that decode to one. `None` if
    /// it isn't one that can be done so.
    pub fn new(spec: &Spec) -> Option<Run> {
        let (height, width) = small_picture(spec)?;
        let channels = *spec.array()?.shape()?.last()?;
        Some(Run {
            decode: None,
            moves: Vec::new(),
            paints: Vec::new(),
            values: Vec::new(),
            channels_first: false,
            from: (height, width),
            size: (height, width),
            channels,
            needed: Window::whole(height, width),
        })
    }

    /// Adds the parts of a step, if they can be done together with those before.
    pub fn add(&mut self, step: usize, parts: Vec<Part>) -> bool {
        let paints = |part: &Part| matches!(part, Part::Values | Part::ChannelsFirst);
        let decodes = |part: &Part| matches!(part, Part::Decode(_));
        let started = self.decode.is_some() || !self.moves.is_empty() || !self.paints.is_empty();
        if !self.paints.is_empty() && !parts.iter().all(paints)
            || started && parts.iter().any(decodes)
        {
            return false;
        }
        for part in parts {
            let takes = self.size;
            match &part {
                Part::Decode(decode) => {
                    self.decode = Some((step, decode.clone()));
                    continue;
                }
                Part::Values | Part::ChannelsFirst => {
                    self.paints.push(step);
                    match part {
                        Part::Values => self.values.push(step),
                        _ => self.channels_first = true,
                    }
                    continue;
                }
                Part::Crop(window) => self.size = (window.height(), window.width()),
                Part::Mirror => {}
                Part::Resize { size, .. } => self.size = *size,
            }
            let needed = Window::whole(self.size.0, self.size.1);
            self.moves.push(Move { step, part, takes, needed });
        }
        true
    }

    /// Channels of what is made.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// The numbers of the steps that change values, in order.
    pub fn values(&self) -> &[usize] {
        &self.values
    }

    /// The same, with what is needed of each part's result found out; `None` if that can't be.
    #[must_use]
    pub fn planned(mut self) -> Option<Run> {
        let mut needed = Window::whole(self.size.0, self.size.1);
        for step in self.moves.iter_mut().rev() {
            let before = match &step.part {
                Part::Crop(window) => window.within(&needed),
                Part::Mirror => mirrored(&needed, step.takes.1),
                Part::Resize { size, filter, .. } => {
                    looked_at(step.takes, *size, *filter, &needed).ok()?
                }
                Part::Decode(_) | Part::Values | Part::ChannelsFirst => needed.clone(),
            };
            step.needed = std::mem::replace(&mut needed, before);
        }
        self.needed = needed;
        Some(self)
    }

    /// Does it. `table` is what the steps that change values make together, if there are any.
    ///
    /// # Errors
    /// Those of the worker.
    pub fn run<W: Worker>(
        &self,
        input: Sample,
        table: Option<&Table>,
        worker: &mut W,
    ) -> Result<Sample, W::Error> {
        let mut view = match (&self.decode, input) {
            (Some((step, decode)), Sample::Bytes(bytes)) => {
                let mut origin = (0, 0);
                let made = worker.work(*step, || {
                    let (picture, at) = decode.part(&bytes, self.from, &self.needed)?;
                    origin = at;
                    Ok(Sample::Array(picture))
                })?;
                View::new(made, origin, self.from)
            }
            (_, input) => View::new(input, (0, 0), self.from),
        };
        // A resize makes what is served if it is last; anything else leaves it to one last pass.
        let last = self.moves.last().filter(|last| !matches!(last.part, Part::Resize { .. }));
        let painter = self.paints.first().copied().or(last.map(|last| last.step));
        for (n, step) in self.moves.iter().enumerate() {
            match &step.part {
                Part::Crop(window) => view.crop(window),
                Part::Mirror => view.mirrored = !view.mirrored,
                Part::Resize { size, filter, compat } => {
                    let made = worker
                        .work(step.step, || view.resized(*size, *filter, *compat, &step.needed))?;
                    let origin = (step.needed.rows.start, step.needed.columns.start);
                    view = View::new(made, origin, *size);
                    continue;
                }
                Part::Decode(_) | Part::Values | Part::ChannelsFirst => {}
            }
            let goes_on = self.moves.get(n + 1).is_some_and(|next| next.step == step.step);
            if !goes_on && Some(step.step) != painter {
                let pixels = step.needed.height() * step.needed.width();
                worker.no_work(step.step, pixels * self.channels);
            }
        }
        let how = Paint { table, mirrored: view.mirrored, channels_first: self.channels_first };
        let made = match painter {
            Some(step) => worker.work(step, || paint(array_in(view.picture)?, &view.part, how))?,
            None => view.picture,
        };
        for step in self.paints.iter().skip(1) {
            worker.no_work(*step, made.len());
        }
        Ok(made)
    }
}

fn mirrored(window: &Window, width: usize) -> Window {
    let columns = width - window.columns.end..width - window.columns.start;
    Window { rows: window.rows.clone(), columns }
}

/// A picture of which only a part may be at hand.
struct View {
    picture: Sample,
    /// What of `picture` counts.
    part: Window,
    /// The row and column of the whole where that lies.
    origin: (usize, usize),
    /// Height and width of the whole.
    whole: (usize, usize),
    /// Whether left and right of the whole change places yet.
    mirrored: bool,
}

impl View {
    fn new(picture: Sample, origin: (usize, usize), whole: (usize, usize)) -> View {
        let size = match &picture {
            Sample::Array(array) => array.picture().unwrap_or_default(),
            Sample::Bytes(_) => (0, 0, 0),
        };
        View { picture, part: Window::whole(size.0, size.1), origin, whole, mirrored: false }
    }

    fn crop(&mut self, window: &Window) {
        let window = if self.mirrored { &mirrored(window, self.whole.1) } else { window };
        let along = |wanted: &Range<usize>, origin: &mut usize, part: &mut Range<usize>| {
            let start = wanted.start.max(*origin);
            let end = wanted.end.min(*origin + part.len()).max(start);
            let skipped = part.start + (start - *origin);
            *part = skipped..skipped + (end - start);
            *origin = start - wanted.start;
        };
        along(&window.rows, &mut self.origin.0, &mut self.part.rows);
        along(&window.columns, &mut self.origin.1, &mut self.part.columns);
        self.whole = (window.height(), window.width());
    }

    fn resized(
        self,
        size: (usize, usize),
        filter: Filter,
        compat: Compat,
        needed: &Window,
    ) -> Result<Sample, StepError> {
        let View { picture, mut part, mut origin, whole, mirrored } = self;
        let mut picture = array_in(picture)?;
        if mirrored {
            let how = Paint { table: None, mirrored, channels_first: false };
            origin.1 = whole.1 - (origin.1 + part.width());
            picture = array_in(paint(picture, &part, how)?)?;
            part = Window::whole(part.height(), part.width());
        }
        let (_, _, channels) = picture.picture().unwrap_or_default();
        let (height, width) = (Dim::Is(needed.height()), Dim::Is(needed.width()));
        let output = ArraySpec::hwc(Dtype::Uint8, height, width, Dim::Is(channels));
        let source = Source { picture: &picture, at_hand: part, origin, whole };
        resample(source, size, filter, compat, needed, &Spec::Array(output))
    }
}
