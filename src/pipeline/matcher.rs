//! Which source files a pipeline is for, told by their paths alone.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Globs over paths within the source: `*` and `?` stop at `/`, `**` doesn't, `{a,b}` is either.
#[derive(Clone, Debug)]
pub struct Matcher {
    globs: GlobSet,
    patterns: Vec<String>,
}

/// A glob that can't be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("glob `{glob}`: {cause}")]
pub struct BadGlob {
    glob: String,
    cause: String,
}

impl Matcher {
    /// A matcher of any of these globs.
    ///
    /// # Errors
    /// If one can't be understood.
    pub fn new(patterns: &[String]) -> Result<Matcher, BadGlob> {
        let bad = |glob: &str, error: &globset::Error| BadGlob {
            glob: glob.to_owned(),
            cause: error.kind().to_string(),
        };
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let glob = GlobBuilder::new(pattern).literal_separator(true).build();
            set.add(glob.map_err(|error| bad(pattern, &error))?);
        }
        let globs = set.build().map_err(|error| bad(&patterns.join(", "), &error))?;
        Ok(Matcher { globs, patterns: patterns.to_vec() })
    }

    /// Whether the file at `path` is meant.
    pub fn matches(&self, path: &Path) -> bool {
        self.globs.is_match(path)
    }

    /// The globs.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_follow_folders() {
        let matcher = Matcher::new(&["**/*.{jpg,JPEG}".into(), "one/*.png".into()]).unwrap();
        for yes in ["a.jpg", "a/b/c.JPEG", "one/x.png", "a b/\u{e9}.jpg"] {
            assert!(matcher.matches(Path::new(yes)), "{yes}");
        }
        for no in ["a.JPG", "a.jpg/b", "one/two/x.png", "x.png"] {
            assert!(!matcher.matches(Path::new(no)), "{no}");
        }
    }

    #[test]
    fn a_bad_glob_is_named() {
        let error = Matcher::new(&["**/*.{jpg".into()]).unwrap_err();
        assert!(error.to_string().starts_with("glob `**/*.{jpg`: "), "{error}");
    }
}
