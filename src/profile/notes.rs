//! What is to be known about the figures before they are believed.

use super::estimate::{Estimate, Whole};
use super::stats;
use crate::units::count;

/// Fewer samples than this say little about others.
const FEW: usize = 30;

/// A line each, none if there is nothing to say.
pub(super) fn notes(ranked: &[Estimate], whole: &Whole) -> Vec<String> {
    let mut notes = Vec::new();
    let made = ranked.iter().map(|one| one.measured.samples).max().unwrap_or(0);
    if made < FEW && made < whole.population {
        let all = count(whole.population as u64);
        notes.push(format!(
            "measured on only {made} of {all} samples: a longer `--budget` or more `--samples` would \
             say more"
        ));
    } else if made < FEW {
        let s = if made == 1 { "" } else { "s" };
        notes.push(format!("{made} sample{s} only: the figures say little about a larger set"));
    }
    let passes: usize = ranked.iter().map(|one| one.passes().len()).sum();
    let disturbed: usize = ranked.iter().map(|one| stats::disturbed(one.passes())).sum();
    if disturbed > 0 {
        notes.push(format!(
            "{disturbed} of {passes} passes were far slower than the others of their strategy: \
             something else ran meanwhile"
        ));
    }
    match stats::drift(ranked.iter().map(Estimate::passes)) {
        Some(drift) if drift < 0.9 => notes.push(format!(
            "the machine got {:.0} % slower while it was measured: it throttles, or something else \
             runs",
            (1.0 - drift) * 100.0
        )),
        _ => {}
    }
    notes
}
