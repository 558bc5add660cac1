//! Figures of one name, in Prometheus' text format, version 0.0.4.

use std::fmt::{self, Write};

/// The kinds of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// It only grows, as long as the process lives.
    Counter,
    /// It goes up and down.
    Gauge,
    /// A count for each upper bound: samples `_bucket` with the label `le`, `_sum` and `_count`.
    Histogram,
    /// Quantiles: samples with the label `quantile`, which no other kind may have.
    Summary,
}

impl Kind {
    /// Prometheus' word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Summary => "summary",
        }
    }
}

/// All figures of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    name: &'static str,
    kind: Kind,
    help: &'static str,
    samples: Vec<Sample>,
}

/// One figure.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Sample {
    /// The suffix of the family's name: of a histogram `_bucket`, `_sum` or `_count`; else nothing.
    pub suffix: &'static str,
    /// Its labels.
    pub labels: Vec<(&'static str, String)>,
    /// The figure.
    pub value: f64,
}

impl Family {
    /// A family without figures. The name ends in the unit, and in `_total` if it is a counter.
    #[must_use]
    pub fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self { name, kind, help, samples: Vec::new() }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The kind of its figures.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Their meaning, in a line.
    #[must_use]
    pub fn help(&self) -> &'static str {
        self.help
    }

    /// The figures.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Adds a figure with labels.
    pub fn add(&mut self, labels: &[(&'static str, &str)], value: f64) {
        self.put("", labels, value);
    }

    /// Adds a histogram: the count within each of `bounds`, which grow, and not within the one before; the count above all; and
    /// the sum.
    pub fn add_histogram(&mut self, labels: &[(&'static str, &str)], bounds: &[f64], counts: &[u64], sum: f64) {
        let mut count = 0;
        let bounds = bounds.iter().map(|bound| Some(*bound)).chain([None]);
        for (bound, within) in bounds.zip(counts) {
            count += within;
            let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| bound.to_string());
            let mut labels = labels.to_vec();
            labels.push(("le", &bound));
            self.put("_bucket", &labels, number(count));
        }
        self.put("_sum", labels, sum);
        self.put("_count", labels, number(count));
    }

    fn put(&mut self, suffix: &'static str, labels: &[(&'static str, &str)], value: f64) {
        let labels = labels.iter().map(|(label, text)| (*label, (*text).to_owned())).collect();
        self.samples.push(Sample { suffix, labels, value });
    }
}

/// A count as Prometheus' type of number.
#[expect(clippy::cast_precision_loss, reason = "Prometheus knows floating point alone")]
pub(super) fn number(count: u64) -> f64 {
    count as f64
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# HELP {} {}", self.name, Escaped(self.help, false))?;
        writeln!(f, "# TYPE {} {}", self.name, self.kind.as_str())?;
        for Sample { suffix, labels, value } in &self.samples {
            write!(f, "{}{suffix}", self.name)?;
            for (i, (label, text)) in labels.iter().enumerate() {
                write!(f, "{}{label}=\"{}\"", if i == 0 { '{' } else { ',' }, Escaped(text, true))?;
            }
            f.write_str(if labels.is_empty() { " " } else { "} " })?;
            match *value {
                f64::INFINITY => f.write_str("+Inf")?,
                f64::NEG_INFINITY => f.write_str("-Inf")?,
                value => write!(f, "{value}")?,
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}

/// Text with the escapes that keep it on its line and, if it is quoted, within its quotes.
struct Escaped<'a>(&'a str, bool);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '\\' => f.write_str("\\\\"),
            '\n' => f.write_str("\\n"),
            '"' if self.1 => f.write_str("\\\""),
            c => f.write_char(c),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_on_its_line_and_within_its_quotes() {
        let mut family = Family::new("a_items", Kind::Gauge, "Of \"a\\b\".\nTwo lines.");
        family.add(&[("queue", "a\"b\\c\nd"), ("state", "é")], 0.5);
        family.add(&[], f64::INFINITY);
        assert_eq!(
            family.to_string(),
            "# HELP a_items Of \"a\\\\b\".\\nTwo lines.\n# TYPE a_items gauge\n\
             a_items{queue=\"a\\\"b\\\\c\\nd\",state=\"é\"} 0.5\na_items +Inf\n"
        );
    }

    #[test]
    fn a_histogram_counts_what_is_within_each_bound() {
        let mut family = Family::new("a_seconds", Kind::Histogram, "A.");
        family.add_histogram(&[("call", "x")], &[0.001, 2.0], &[3, 0, 1], 7.25);
        let (_, samples) =
            family.to_string().split_once("histogram\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(
            samples,
            "a_seconds_bucket{call=\"x\",le=\"0.001\"} 3\na_seconds_bucket{call=\"x\",le=\"2\"} 3\n\
             a_seconds_bucket{call=\"x\",le=\"+Inf\"} 4\na_seconds_sum{call=\"x\"} 7.25\na_seconds_count{call=\"x\"} 4\n"
        );
    }
}
