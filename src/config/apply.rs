//! Writing a strategy into a config file's text, with its comments and everything else left as
//! they are.

use toml_edit::{DocumentMut, Item, Table, value};

/// The text with these strategies (split and codec, by their names), one a pipeline: as `[strategy]` if there is one pipeline, each
/// below its pipeline if there are several.
///
/// # Errors
/// If the text is no TOML.
pub fn with_strategy(
    text: &str,
    strategies: &[(String, String)],
) -> Result<String, toml_edit::TomlError> {
    let mut document: DocumentMut = text.parse()?;
    if let [one] = strategies {
        set(document.as_table_mut(), one);
    } else if let Some(Item::ArrayOfTables(pipelines)) = document.get_mut("pipeline") {
        for (pipeline, strategy) in pipelines.iter_mut().zip(strategies) {
            set(pipeline, strategy);
        }
    }
    Ok(document.to_string())
}

fn set(table: &mut Table, (split, codec): &(String, String)) {
    if !table.contains_key("strategy") {
        let mut fresh = Table::new();
        fresh.decor_mut().set_prefix("\n");
        table.insert("strategy", Item::Table(fresh));
    }
    let Some(section) = table.get_mut("strategy").and_then(Item::as_table_like_mut) else { return };
    for (key, new) in [("split", split), ("codec", codec)] {
        match section.get_mut(key).and_then(Item::as_value_mut) {
            // The comment behind the value stays.
            Some(old) => {
                let decor = old.decor().clone();
                *old = new.as_str().into();
                *old.decor_mut() = decor;
            }
            None => {
                section.insert(key, value(new.as_str()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str, strategies: &[(&str, &str)]) -> String {
        let owned: Vec<(String, String)> =
            strategies.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        with_strategy(text, &owned).unwrap()
    }

    #[test]
    fn comments_and_order_stay() {
        let text = "# mine\n[source]\npath = \"x\" # here\n\n[strategy] # measured\nsplit = \"none\" # why\n";
        assert_eq!(
            applied(text, &[("resize", "zstd:3")]),
            "# mine\n[source]\npath = \"x\" # here\n\n[strategy] # measured\nsplit = \"resize\" # why\ncodec = \"zstd:3\"\n"
        );
    }

    #[test]
    fn a_missing_section_is_added_at_the_end() {
        assert_eq!(
            applied("[source]\npath = \"x\"\n", &[("2", "none")]),
            "[source]\npath = \"x\"\n\n[strategy]\nsplit = \"2\"\ncodec = \"none\"\n"
        );
    }

    #[test]
    fn several_pipelines_get_one_each() {
        let text = "[[pipeline]]\nmatch = [\"a\"]\n\n[[pipeline]]\nmatch = [\"b\"]\n";
        let new = applied(text, &[("source", "lz4"), ("none", "none")]);
        assert_eq!(new.matches("[pipeline.strategy]").count(), 2);
        assert!(new.find("\"source\"").unwrap() < new.find("match = [\"b\"]").unwrap());
    }
}
