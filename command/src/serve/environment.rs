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
        Self { name: name.map(str::trim).filter(|name| !name.is_empty()).map(crate::format::plain), color }
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
        self.name().is_some_and(|name| ["production", "prod", "live"].iter().any(|of| name.eq_ignore_ascii_case(of)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn production_is_red_and_asks_twice() {
        let of = |name, color| Environment::new(Some(name), color);
        assert!(of("Production", None).asks_twice() && of("prod", None).asks_twice());
        assert!(!of("test", None).asks_twice() && !Environment::default().asks_twice());
        assert_eq!(of("production", None).color(), "red");
        assert_eq!(of("production", Some(Color::Blue)).color(), "blue");
        assert_eq!(of("test", None).color(), "grey");
        assert_eq!(of(" ", None).name(), None);
    }
}
