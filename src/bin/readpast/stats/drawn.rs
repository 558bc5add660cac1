//! Bars and lines of characters, for a terminal that somebody watches.

/// Cells of a bar, and the most of a line.
const BAR: usize = 18;
pub const LINE: usize = 56;

/// What is drawn with: whole cells, then the parts of one, from the least on; and the heights of a line.
pub struct Pens {
    parts: &'static [char],
    heights: &'static [char],
}

impl Pens {
    const BLOCKS: Self = Self {
        parts: &['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'],
        heights: &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
    };
    pub const PLAIN: Self = Self { parts: &['#'], heights: &['_', '.', '-', '=', '*', '#'] };

    /// Those that the terminal can show, as far as its environment tells.
    pub fn of_environment() -> Self {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        let locale =
            set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default().to_lowercase();
        if cfg!(windows) || locale.contains("utf-8") || locale.contains("utf8") { Self::BLOCKS } else { Self::PLAIN }
    }

    /// A bar as long as `value` is to `most`; what is not nothing can be seen.
    pub fn bar(&self, value: i64, most: i64) -> String {
        let (value, most) = (i128::from(value.max(0)), i128::from(most.max(1)));
        let steps = i128::try_from(self.parts.len()).unwrap_or(1);
        let filled = value.min(most) * BAR as i128 * steps / most;
        let filled = if value > 0 { filled.max(1) } else { 0 };
        let whole = usize::try_from(filled / steps).unwrap_or(BAR);
        let mut bar: String = self.parts.last().into_iter().cycle().take(whole).collect();
        if let Some(rest) = usize::try_from(filled % steps).ok().filter(|rest| *rest > 0) {
            bar.extend(self.parts.get(rest - 1));
        }
        bar
    }

    /// The newest values as a line, from nothing to the highest of them.
    pub fn line(&self, values: &[f64]) -> String {
        let values = &values[values.len().saturating_sub(LINE)..];
        let most = values.iter().copied().fold(0.0, f64::max);
        let top = self.heights.len() - 1;
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within 8 heights"
        )]
        let height = |value: f64| if most > 0.0 { (value / most * top as f64).round() as usize } else { 0 };
        values.iter().filter_map(|value| self.heights.get(height(value.max(0.0)).min(top))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_what_they_stand_for() {
        for (value, bar) in [
            (0, ""),
            (1, "▏"),
            (500, "█████████"),
            (1000, "██████████████████"),
            (-5, ""),
            (2000, "██████████████████"),
        ] {
            assert_eq!(Pens::BLOCKS.bar(value, 1000), bar, "{value}");
        }
        assert_eq!(Pens::BLOCKS.bar(0, 0), "");
        assert_eq!(Pens::PLAIN.bar(1, 1_000_000), "#");
        assert_eq!(Pens::PLAIN.bar(i64::MAX, i64::MAX).len(), BAR);
    }

    #[test]
    fn lines_go_from_nothing_to_the_highest() {
        assert_eq!(Pens::BLOCKS.line(&[]), "");
        assert_eq!(Pens::BLOCKS.line(&[0.0, 0.0]), "▁▁");
        assert_eq!(Pens::BLOCKS.line(&[0.0, 7.0, 3.5, -1.0]), "▁█▅▁");
        assert_eq!(Pens::PLAIN.line(&vec![1.0; 500]).len(), LINE);
    }
}
