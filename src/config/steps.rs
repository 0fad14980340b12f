//! The steps of a config, read by the steps' own types and put together.

use serde::de::IntoDeserializer;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Places, nearest};
use crate::output::Output;
use crate::pipeline::{BadPipeline, Pipeline};
use crate::step::image::Compat;
use crate::step::{self, Kind};

/// The step tables of a pipeline.
pub(super) type Tables<'a> = Vec<Spanned<DeValue<'a>>>;

/// Takes the `step` tables of every pipeline out of the file, in order.
///
/// # Errors
/// If there is something else where they should be: read over, a pipeline would lose its steps.
pub(super) fn take<'a>(
    table: &mut Spanned<DeTable<'a>>,
    places: &Places,
) -> Result<Vec<Tables<'a>>, ConfigError> {
    let pipelines = match table.get_mut().get_mut("pipeline") {
        None => return Ok(Vec::new()),
        Some(pipelines) => pipelines,
    };
    let span = pipelines.span();
    let DeValue::Array(pipelines) = pipelines.get_mut() else {
        let error = places.at(span, "a pipeline is a section in double brackets");
        return Err(error.hint("write `[[pipeline]]`"));
    };
    let mut taken = Vec::new();
    for pipeline in pipelines.iter_mut() {
        let step = match pipeline.get_mut() {
            DeValue::Table(pipeline) => pipeline.remove("step"),
            _ => None,
        };
        taken.push(match step.map(|step| (step.span(), step.into_inner())) {
            None => Vec::new(),
            Some((_, DeValue::Array(steps))) => steps.into_iter().collect(),
            Some((span, _)) => {
                let error = places.at(span, "a step is a section in double brackets");
                return Err(error.hint("write `[[pipeline.step]]`"));
            }
        });
    }
    Ok(taken)
}

/// The pipeline of these steps, each read and typed. `compat` is given to the steps that have such
/// a parameter and don't give it themselves.
pub(super) fn pipeline(
    tables: Tables<'_>,
    output: Spanned<Output>,
    compat: Option<&Spanned<Compat>>,
    places: &Places,
) -> Result<Pipeline, ConfigError> {
    let mut steps = Vec::new();
    let mut spans = Vec::new();
    for (at, mut table) in tables.into_iter().enumerate() {
        let number = at + 1;
        let span = table.span();
        let used = match table.get_mut() {
            DeValue::Table(table) => table.remove("use"),
            _ => None,
        };
        let Some(used) = used else {
            let error = places.at(span, format!("step {number} doesn't say what to `use`"));
            return Err(error.hint(format!("it is one of {}", listed())));
        };
        let Some(name) = used.get_ref().as_str().filter(|name| step::NAMES.contains(name)) else {
            let name = used.get_ref().as_str().unwrap_or_default();
            let error = places.at(used.span(), format!("step {number}: unknown step `{name}`"));
            return Err(error.hint(match nearest(name, step::NAMES.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it is one of {}", listed()),
            }));
        };
        if let (Some(compat), true) = (compat, Compat::STEPS.contains(&name)) {
            give(&mut table, "compat", compat);
        }
        let built = step::build(name, table.into_deserializer()).map_err(|error| {
            let span = error.span().unwrap_or(used.span());
            places.toml_at(span, &error).in_step(number, name)
        })?;
        spans.push(used.span());
        steps.push(built);
    }
    let random = steps.iter().any(|step| matches!(step.kind, Kind::Random(_)));
    if random && *output.get_ref() == Output::Png {
        let error = "output `png` is as long as the picture needs, and with a random step that \
                     changes at every opening: no size told would be true";
        return Err(places.at(output.span(), error).hint("use `npy`, `ppm`, `bmp` or `raw`"));
    }
    Pipeline::new(steps, *output.get_ref()).map_err(|error| {
        let span = match &error {
            BadPipeline::Step { number, .. } => spans[number - 1].clone(),
            BadPipeline::Output(_) => output.span(),
        };
        places.at(span, error)
    })
}

/// Puts a parameter into a step's table unless it is there; errors about it point at `value`.
fn give(table: &mut Spanned<DeValue<'_>>, key: &'static str, value: &Spanned<impl ToString>) {
    let DeValue::Table(table) = table.get_mut() else { return };
    if !table.contains_key(key) {
        let text = DeValue::String(value.get_ref().to_string().into());
        let key = Spanned::new(value.span(), key.into());
        table.insert(key, Spanned::new(value.span(), text));
    }
}

fn listed() -> String {
    let names: Vec<String> = step::NAMES.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
