//! The file with the rules.

use super::notify::To;
use crate::duration;
use crate::failure::{Result, usage};
use crate::global::Global;
use crate::secret_file::SecretFile;
use readpast::item::span_text;
use std::path::Path;
use std::time::Duration;
use toml::de::{DeTable, DeValue};

/// Rules, and whom to tell.
pub struct Rules {
    pub all: Vec<Rule>,
    pub to: To,
}

pub struct Rule {
    pub name: String,
    /// The only queue that it is for.
    queue: Option<String>,
    pub condition: Condition,
    /// How long the condition has to be met before an alert is sent.
    pub lasts: Duration,
}

/// A figure and its highest good value. Times are milliseconds.
pub enum Condition {
    Depth(i64),
    Oldest(i64),
    FailedPerMinute(i64),
    NoWorker(i64),
}

const KEYS: [&str; 7] = ["name", "queue", "for", "depth", "oldest", "failed_per_minute", "no_worker"];

impl Rules {
    pub fn read(global: &Global, path: &Path) -> Result<Self> {
        let file = SecretFile::read(path)?;
        let rules = Self::parse(&file.text).map_err(|why| usage(format!("{}: {why}", path.display())))?;
        if matches!(rules.to, To::Webhook(_)) {
            // Anybody who knows such an address may post there.
            file.keeps_secret(global)?;
        }
        Ok(rules)
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let root = DeTable::parse(text).map_err(|error| error.message().to_owned())?;
        let (mut all, mut to) = (Vec::new(), None);
        for (key, value) in root.get_ref() {
            let other = match (key.get_ref().as_ref(), value.get_ref()) {
                ("webhook", DeValue::String(address)) => to.replace(To::webhook(address)?).is_some(),
                ("command", DeValue::Array(words)) => {
                    let words = words.iter().map(|word| match word.get_ref() {
                        DeValue::String(word) => Ok(word.to_string()),
                        _ => Err("command: must be a list of texts"),
                    });
                    to.replace(To::command(words.collect::<std::result::Result<_, _>>()?)?).is_some()
                }
                ("log", DeValue::Boolean(true)) => to.replace(To::Log).is_some(),
                ("rule", DeValue::Array(rules)) => {
                    for (i, rule) in rules.iter().enumerate() {
                        let DeValue::Table(rule) = rule.get_ref() else {
                            return Err("rule: must be a table, [[rule]]".to_owned());
                        };
                        all.push(Rule::read(rule).map_err(|why| format!("rule {}: {why}", i + 1))?);
                    }
                    false
                }
                (other, _) => {
                    return Err(format!(
                        "{other}: there are webhook (text), command (a list), log (true) and [[rule]]"
                    ));
                }
            };
            if other {
                return Err("give one of webhook, command and log".to_owned());
            }
        }
        if all.is_empty() {
            return Err("there is no [[rule]] in it".to_owned());
        }
        Ok(Self { all, to: to.ok_or("it has neither webhook, command nor log: nobody would be notified")? })
    }
}

impl Rule {
    fn read(rule: &DeTable<'_>) -> std::result::Result<Self, String> {
        let (mut name, mut queue, mut lasts, mut condition) = (None, None, Duration::ZERO, None);
        for (key, value) in rule {
            let key = key.get_ref().as_ref();
            let text = || match value.get_ref() {
                DeValue::String(text) => Ok(text.to_string()),
                _ => Err(format!("{key}: must be text")),
            };
            let time = || duration::parse(&text()?).map_err(|why| format!("{key}: {why}"));
            let ms = || time().map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
            let number = || match value.get_ref() {
                DeValue::Integer(number) => {
                    i64::from_str_radix(number.as_str(), number.radix()).ok().filter(|n| *n >= 0)
                }
                _ => None,
            };
            let number = || number().ok_or_else(|| format!("{key}: must be a whole number"));
            let found = match key {
                "name" => {
                    name = Some(text()?);
                    continue;
                }
                "queue" => {
                    queue = Some(text()?);
                    continue;
                }
                "for" => {
                    lasts = time()?;
                    continue;
                }
                "depth" => Condition::Depth(number()?),
                "oldest" => Condition::Oldest(ms()?),
                "failed_per_minute" => Condition::FailedPerMinute(number()?),
                "no_worker" => Condition::NoWorker(ms()?),
                other => return Err(format!("there is no {other}; there are {}", KEYS.join(", "))),
            };
            if condition.replace(found).is_some() {
                return Err("has more than one condition: write a rule for each".to_owned());
            }
        }
        let condition = condition.ok_or("has no condition: depth, oldest, failed_per_minute or no_worker")?;
        Ok(Self { name: name.unwrap_or_else(|| condition.word().to_owned()), queue, condition, lasts })
    }

    /// The only queue that it is for.
    pub fn queue(&self) -> Option<&str> {
        self.queue.as_deref()
    }

    pub fn is_for(&self, queue: &str) -> bool {
        self.queue.as_ref().is_none_or(|only| only == queue)
    }
}

impl Condition {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Depth(_) => "depth",
            Self::Oldest(_) => "oldest",
            Self::FailedPerMinute(_) => "failed_per_minute",
            Self::NoWorker(_) => "no_worker",
        }
    }

    pub fn limit(&self) -> i64 {
        match self {
            Self::Depth(most) | Self::Oldest(most) | Self::FailedPerMinute(most) | Self::NoWorker(most) => *most,
        }
    }

    pub fn is_met(&self, value: i64) -> bool {
        value > self.limit()
    }

    /// In words.
    pub fn text(&self, queue: &str, value: Option<i64>, fires: bool) -> String {
        let Some(value) = value else { return format!("{queue}: no longer installed") };
        let limit = self.limit();
        match (self, fires) {
            (Self::Depth(_), true) => format!("{queue}: {value} items are due, more than {limit}"),
            (Self::Depth(_), false) => format!("{queue}: {value} items are due, no more than {limit}"),
            (Self::Oldest(_), true) => format!("{queue}: an item has been due for {}", span_text(value)),
            (Self::Oldest(_), false) => format!("{queue}: no item has been due for {}", span_text(limit)),
            (Self::FailedPerMinute(_), _) => format!("{queue}: {value} items failed within a minute"),
            (Self::NoWorker(_), true) => {
                format!("{queue}: items have been due for {}, and no worker holds any", span_text(value))
            }
            (Self::NoWorker(_), false) => format!("{queue}: a worker holds items, or nothing is due for so long"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_mistakes_have_their_place() {
        let good = "command = ['a', 'b']\n[[rule]]\ndepth = 1_000\n[[rule]]\nname = 'x'\nqueue = 'Q'\noldest = '5m'\nfor = '10s'";
        let rules = Rules::parse(good).unwrap();
        assert_eq!((rules.all[0].name.as_str(), rules.all[0].condition.limit()), ("depth", 1000));
        assert_eq!((rules.all[1].condition.limit(), rules.all[1].lasts), (300_000, Duration::from_secs(10)));
        assert!(rules.all[0].is_for("any") && rules.all[1].is_for("Q") && !rules.all[1].is_for("R"));
        for (text, why) in [
            ("", "no [[rule]]"),
            ("[[rule]]\ndepth = 1", "neither webhook, command nor log"),
            ("command = ['a']\nwebhook = 'http://h/'\n[[rule]]\ndepth = 1", "one of"),
            ("log = true\ncommand = ['a']\n[[rule]]\ndepth = 1", "one of"),
            ("log = false\n[[rule]]\ndepth = 1", "log (true)"),
            ("command = []\n[[rule]]\ndepth = 1", "no program"),
            ("command = ['a']\n[[rule]]", "rule 1: has no condition"),
            ("command = ['a']\n[[rule]]\ndepth = -1", "rule 1: depth: must be a whole number"),
            ("command = ['a']\n[[rule]]\noldest = '5 weeks'", "rule 1: oldest: write a whole number"),
            ("command = ['a']\n[[rule]]\ndepth = 1\noldest = '1s'", "more than one condition"),
            ("command = ['a']\n[[rule]]\ndept = 1", "rule 1: there is no dept"),
            ("webhook = 'https://h/'\n[[rule]]\ndepth = 1", "curl"),
            ("webhook = 'h'\n[[rule]]\ndepth = 1", "http://"),
        ] {
            let found = Rules::parse(text).err().unwrap_or_else(|| panic!("{text} is taken"));
            assert!(found.contains(why), "{text}: {found}");
        }
    }
}
