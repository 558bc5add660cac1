//! Checks the ODBC driver, and its options in the connection string.

use super::{Examined, Finding};
use crate::config::Config;
use crate::dialect::Dialect;

pub(super) fn check(config: &Config, examined: &mut Examined) {
    let Some(driver) = config.connection_value("driver") else {
        let name = config.connection_value("dsn").or_else(|| config.connection_value("filedsn")).unwrap_or_default();
        let what = "the connection string names a DSN, so the driver is what the data source says";
        examined.findings.push(Finding::ok("driver", name, what));
        return;
    };
    let lower = driver.to_lowercase();
    let finding = match examined.session.dialect() {
        Dialect::SqlServer if lower.contains("odbc driver") && lower.contains("sql server") => {
            let version: u32 = lower.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
            if version >= 17 {
                Finding::ok("driver", &driver, "the Microsoft driver, of a version that readpast knows")
            } else {
                let what =
                    "an old version of the Microsoft driver, with errors in its connection recovery and in long text";
                Finding::warning("driver", &driver, what, "install version 18")
            }
        }
        // A path to the driver's library names it, too.
        Dialect::SqlServer if lower.contains("msodbcsql") => Finding::ok("driver", &driver, "the Microsoft driver"),
        Dialect::SqlServer => {
            let what = "not the Microsoft ODBC driver, the only one that readpast is tested with on SQL Server";
            Finding::warning("driver", &driver, what, "install \"ODBC Driver 18 for SQL Server\" and name it")
        }
        Dialect::Postgres if lower.contains("ansi") => {
            let what = "psqlODBC in its ANSI build, which loses characters that the client's locale lacks";
            Finding::warning("driver", &driver, what, "name the Unicode build: Driver={PostgreSQL Unicode}")
        }
        Dialect::Postgres => Finding::ok("driver", &driver, "psqlODBC"),
    };
    examined.findings.push(finding);
    options(config, examined, &driver);
}

/// Options of the connection string that contradict those of readpast.
fn options(config: &Config, examined: &mut Examined, driver: &str) {
    let pitfalls: &[(&str, &str, &str)] = match examined.session.dialect() {
        Dialect::SqlServer => &[
            (
                "connectretrycount",
                "0",
                "the driver would replace a lost connection behind readpast's back, without its settings",
            ),
            ("mars_connection", "no", "every call on the connection costs more, and nothing here uses it"),
        ],
        Dialect::Postgres => &[
            ("boolsaschar", "0", "booleans arrive as text"),
            ("useserversideprepare", "1", "the server plans every call anew"),
            ("lfconversion", "0", "line ends in text are changed"),
            ("usedeclarefetch", "0", "every call takes several round trips"),
        ],
    };
    for (key, wanted, otherwise) in pitfalls {
        let Some(value) = config.connection_value(key).filter(|value| !value.eq_ignore_ascii_case(wanted)) else {
            continue;
        };
        let what = format!("the connection string says {key}={value}: {otherwise}");
        examined.findings.push(Finding::warning(
            "driver",
            driver,
            what,
            format!("leave it out, or say {key}={wanted}"),
        ));
    }
    let encrypts = config.connection_value("encrypt").map(|value| value.to_lowercase());
    if encrypts.is_some_and(|value| ["no", "false", "optional", "0"].contains(&value.as_str())) {
        let what = "the connection string turns encryption off: password and items can be read on the way";
        examined.findings.push(Finding::warning(
            "driver",
            driver,
            what,
            "say Encrypt=yes, with a certificate that is trusted",
        ));
    }
}
