//! Which environment the pages belong to, so that nobody takes one for another.

use clap::ValueEnum;

/// A colour that the style sheet knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Red,
    Orange,
    Green,
    Blue,
    Purple,
    Grey,
}

/// A name in the head of each page, with a colour.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    name: Option<String>,
    color: Option<Color>,
}

impl Environment {
    pub fn new(name: Option<&str>, color: Option<Color>) -> Self {
        Self { name: name.map(str::trim).filter(|name| !name.is_empty()).map(crate::printable::printable), color }
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The class of the style sheet; production is red unless another was given.
    pub fn color(&self) -> &'static str {
        match self.color {
            Some(Color::Red) => "red",
            Some(Color::Orange) => "orange",
            Some(Color::Green) => "green",
            Some(Color::Blue) => "blue",
            Some(Color::Purple) => "purple",
            None if self.asks_twice() => "red",
            Some(Color::Grey) | None => "grey",
        }
    }

    /// Whether an action needs the name of the queue typed, and not only a click.
    pub fn asks_twice(&self) -> bool {
        // `PROD`, `prod-eu`, `Production 2` and `live3` as well; `productivity` is another word.
        let first =
            self.name().and_then(|name| name.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()));
        let word = first.map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()));
        word.is_some_and(|word| ["production", "prod", "live"].iter().any(|of| word.eq_ignore_ascii_case(of)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn production_is_red_and_asks_twice() {
        let of = |name, color| Environment::new(Some(name), color);
        assert!(of("Production", None).asks_twice() && of("prod", None).asks_twice());
        for name in ["PROD", "prod-eu", "Production 2", "live3", "prod_eu", "[prod]", "prod2/eu", "Live: Europe"] {
            assert!(of(name, None).asks_twice() && of(name, None).color() == "red", "{name}");
        }
        for name in ["productivity", "products", "liver", "delivery", "preprod", "non-prod", "staging", "2"] {
            assert!(!of(name, None).asks_twice(), "{name}");
        }
        assert!(!of("test", None).asks_twice() && !Environment::default().asks_twice());
        assert_eq!(of("production", None).color(), "red");
        assert_eq!(of("production", Some(Color::Blue)).color(), "blue");
        assert_eq!(of("test", None).color(), "grey");
        assert_eq!(of(" ", None).name(), None);
    }
}
