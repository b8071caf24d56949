//! The environment variables that decide how contexts are opened.

use crate::{Defer, Fallback};
use rustarr_interface::{Error, Result};
use std::env::VarError;

/// Every variable that is read here, and what it decides. `RUSTARR_NUM_THREADS` and `OMP_NUM_THREADS` are
/// read where threads are made, `RUSTARR_CACHE_DIR` where compiled pipelines are kept.
pub const VARIABLES: &[(&str, &str)] = &[
    (
        "RUSTARR_BACKEND",
        "the backend of the default context, for example cpu-serial or wgpu:1",
    ),
    (
        "RUSTARR_ALLOW_SOFTWARE",
        "1 lets software GPU adapters be used, 0 does not",
    ),
    (
        "RUSTARR_FALLBACK",
        "warn, allow or error: what happens when the device lacks an operation",
    ),
    (
        "RUSTARR_DEFER",
        "auto, always or never: when recorded work runs; for tests",
    ),
    (
        "RUSTARR_GRAIN",
        "elements from which work is split over threads; for tests",
    ),
];

/// The settings of the environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Environment {
    /// `RUSTARR_BACKEND`, by default `cpu-parallel`.
    pub backend: String,
    /// `RUSTARR_ALLOW_SOFTWARE`.
    pub allow_software: Option<bool>,
    /// `RUSTARR_FALLBACK`.
    pub fallback: Option<Fallback>,
    /// `RUSTARR_DEFER`.
    pub defer: Option<Defer>,
    /// `RUSTARR_GRAIN`.
    pub grain: Option<usize>,
}

impl Environment {
    /// Reads the variables. An empty one counts as unset.
    ///
    /// # Errors
    /// `Value` naming the variable, what it holds and what it may hold.
    pub fn read() -> Result<Environment> {
        Environment::from_lookup(|name| match std::env::var(name) {
            Ok(value) => Ok(Some(value)),
            Err(VarError::NotPresent) => Ok(None),
            Err(VarError::NotUnicode(_)) => Err(Error::value(
                "environment",
                format!("{name} is not valid text"),
            )),
        })
    }

    fn from_lookup(lookup: impl Fn(&str) -> Result<Option<String>>) -> Result<Environment> {
        let get = |name: &str| -> Result<Option<String>> {
            Ok(lookup(name)?
                .map(|v| v.trim().to_owned())
                .filter(|v| !v.is_empty()))
        };
        Ok(Environment {
            backend: get("RUSTARR_BACKEND")?.unwrap_or_else(|| "cpu-parallel".to_owned()),
            allow_software: choice(
                "RUSTARR_ALLOW_SOFTWARE",
                get("RUSTARR_ALLOW_SOFTWARE")?,
                &[("1", true), ("0", false), ("true", true), ("false", false)],
            )?,
            fallback: choice(
                "RUSTARR_FALLBACK",
                get("RUSTARR_FALLBACK")?,
                &[
                    ("warn", Fallback::Warn),
                    ("allow", Fallback::Allow),
                    ("error", Fallback::Error),
                ],
            )?,
            defer: choice(
                "RUSTARR_DEFER",
                get("RUSTARR_DEFER")?,
                &[
                    ("auto", Defer::Auto),
                    ("always", Defer::Always),
                    ("never", Defer::Never),
                ],
            )?,
            grain: get("RUSTARR_GRAIN")?
                .map(|value| {
                    value.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
                        Error::value(
                            "environment",
                            format!("RUSTARR_GRAIN={value:?} is not a positive whole number"),
                        )
                    })
                })
                .transpose()?,
        })
    }
}

fn choice<T: Copy>(name: &str, value: Option<String>, known: &[(&str, T)]) -> Result<Option<T>> {
    let Some(value) = value else { return Ok(None) };
    let found = known
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(&value));
    found.map(|(_, choice)| Some(*choice)).ok_or_else(|| {
        let words: Vec<_> = known.iter().map(|(word, _)| *word).collect();
        Error::value(
            "environment",
            format!("{name}={value:?} is not one of {}", words.join(", ")),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Environment> {
        Environment::from_lookup(|name| {
            Ok(pairs
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned()))
        })
    }

    #[test]
    fn unset_and_empty_are_the_defaults() {
        let none = read(&[]).unwrap();
        assert_eq!(none.backend, "cpu-parallel");
        assert_eq!(
            (none.allow_software, none.defer, none.grain),
            (None, None, None)
        );
        assert_eq!(
            read(&[("RUSTARR_BACKEND", " "), ("RUSTARR_DEFER", "")]).unwrap(),
            none
        );
    }

    #[test]
    fn every_variable_is_read() {
        let all = read(&[
            ("RUSTARR_BACKEND", "wgpu:1"),
            ("RUSTARR_ALLOW_SOFTWARE", "1"),
            ("RUSTARR_FALLBACK", "Error"),
            ("RUSTARR_DEFER", "always"),
            ("RUSTARR_GRAIN", "7"),
        ])
        .unwrap();
        assert_eq!(all.backend, "wgpu:1");
        assert_eq!(all.allow_software, Some(true));
        assert_eq!(all.fallback, Some(Fallback::Error));
        assert_eq!(all.defer, Some(Defer::Always));
        assert_eq!(all.grain, Some(7));
    }

    #[test]
    fn nonsense_is_named() {
        for (name, value) in [
            ("RUSTARR_ALLOW_SOFTWARE", "maybe"),
            ("RUSTARR_DEFER", "later"),
            ("RUSTARR_GRAIN", "0"),
        ] {
            let error = read(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value), "{error}");
        }
    }
}
