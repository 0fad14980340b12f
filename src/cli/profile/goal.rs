//! What the strategy is to be good for, as said on the command line.

use clap::ValueEnum;

use crate::cli::say::Failure;
use crate::profile::{Goal, Limits, Objective};
use crate::units::{parse_bytes, parse_duration};

#[derive(clap::Args)]
#[command(next_help_heading = "The goal")]
pub(super) struct Args {
    /// Only strategies that store no more than this for the whole set
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    max_storage: Option<u64>,

    /// Only strategies that are prepared within this time for the whole set
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    max_prepare: Option<std::time::Duration>,

    /// Only strategies that give so many samples a second
    #[arg(long, value_name = "N", value_parser = above_zero)]
    min_throughput: Option<f64>,

    /// What makes a strategy the best of these: most samples a second, or least time or money for
    /// preparing and all epochs
    #[arg(long, value_enum, default_value_t = Word::Throughput)]
    objective: Word,

    /// How often the set is read; for `total-time` and `cost`
    #[arg(long, value_name = "N", value_parser = above_zero)]
    epochs: Option<f64>,

    /// Price of keeping a GB for a month; for `cost`
    #[arg(long, value_name = "PRICE", value_parser = not_negative)]
    price_storage: Option<f64>,

    /// Price of the machine for an hour; for `cost`
    #[arg(long, value_name = "PRICE", value_parser = not_negative)]
    price_hour: Option<f64>,

    /// The weights of preparing, storage and throughput, as in PRESTO, instead of an objective
    #[arg(long, value_name = "P,S,T", value_parser = weights, conflicts_with_all = ["objective", "epochs"])]
    weights: Option<[f64; 3]>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Word {
    Throughput,
    TotalTime,
    Cost,
}

impl Args {
    pub(super) fn goal(&self) -> Result<Goal, Failure> {
        let limits = Limits {
            storage: self.max_storage,
            prepare: self.max_prepare.map(|time| time.as_secs_f64()),
            throughput: self.min_throughput,
        };
        let needs = |option: &str| {
            let word = self.objective.to_possible_value();
            let word = word.map_or_else(String::new, |word| word.get_name().to_owned());
            Failure::usage(format_args!("`--objective {word}` needs `{option}`"))
        };
        let epochs = || self.epochs.ok_or_else(|| needs("--epochs N"));
        let objective = match (self.weights, self.objective) {
            (Some(weights), _) => Objective::Weights(weights),
            (_, Word::Throughput) => Objective::Throughput,
            (_, Word::TotalTime) => Objective::TotalTime { epochs: epochs()? },
            (_, Word::Cost) => Objective::Cost {
                epochs: epochs()?,
                storage: self.price_storage.ok_or_else(|| needs("--price-storage PRICE"))?,
                hour: self.price_hour.ok_or_else(|| needs("--price-hour PRICE"))?,
            },
        };
        Ok(Goal { limits, objective })
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

fn not_negative(text: &str) -> Result<f64, String> {
    number(text).ok_or_else(|| "it must be a number from 0".to_owned())
}

fn above_zero(text: &str) -> Result<f64, String> {
    let number = number(text).filter(|number| *number > 0.0);
    number.ok_or_else(|| "it must be a number above 0".to_owned())
}

fn weights(text: &str) -> Result<[f64; 3], String> {
    let numbers: Option<Vec<f64>> = text.split(',').map(number).collect();
    let weights: Option<[f64; 3]> = numbers.and_then(|numbers| numbers.try_into().ok());
    weights
        .filter(|weights| weights.iter().sum::<f64>() > 0.0)
        .ok_or_else(|| "it must be three numbers from 0, not all 0: `1,1,2`".to_owned())
}
