//! `readpast schedules`, and the page of schedules.

use crate::http::Served;
use crate::shell::Shell;

const SPEC: &str = r#"
queue = "Report"
columns = [{ name = "N", type = "integer", nullable = false }]

[[schedule]]
name = "it's <nightly>"
cron = "0 3 * * MON-FRI"
zone = "Europe/Zurich"
item = { columns = { N = 1 } }
"#;

fn reporting() -> Shell {
    let shell = Shell::empty();
    shell.write("report.toml", SPEC);
    shell.ok(&["install", "report.toml"]);
    shell
}

fn items(shell: &Shell) -> String {
    shell.look("SELECT COUNT(*)::text FROM readpast.report")
}

#[test]
fn schedules_are_listed_changed_and_run() {
    let shell = reporting();
    let listed = shell.ok(&["schedules", "list", "Report"]);
    let cells: Vec<_> = listed.trim_end().split('\t').collect();
    assert_eq!(
        (cells[0], cells[1], cells[3], cells[4]),
        ("it's <nightly>", "on", "0 3 * * MON-FRI Europe/Zurich", "never")
    );
    assert!(cells[2].ends_with(":00:00Z"), "{listed}");

    let item = r#"{"columns": {"N": 2}}"#;
    let set = |more: &[&str]| shell.run(&[&["schedules", "set", "Report", "tick"][..], more].concat());
    assert_eq!(set(&["--cron", "@every 1h", "--zone", "UTC", "--item", item, "--missed", "each"]).out, "made: tick\n");
    assert_eq!(set(&["--cron", "@every 2h"]).out, "changed: tick\n");
    set(&["--cron", "61 * * * *"]).says(2, &["cron: "]);
    set(&["--zone", "Mars/Base"]).says(2, &["zone: ", "Europe/Zurich"]);
    set(&["--item", "{}"]).says(2, &["column \"N\" must have a value"]);
    set(&["--item", "{\"column\": 1}"]).says(2, &["--item: there is no such key \"column\""]);
    set(&["--item", "x"]).says(2, &["--item is no JSON"]);
    let fired = shell.ok(&["schedules", "run", "Report", "tick"]);
    assert!(fired.starts_with("FIRED\t"), "{fired}");
    assert!(shell.ok(&["show", "Report", fired.trim_end().split('\t').nth(1).unwrap()]).contains("Pending"));
    assert_eq!(shell.ok(&["schedules", "disable", "Report", "tick"]), "disabled: tick\n");
    let shown = shell.run(&["schedules", "list", "Report", "--json"]).json();
    let tick = shown.iter().find(|schedule| schedule["name"] == "tick").unwrap();
    assert_eq!(
        (&tick["enabled"], &tick["cron"], &tick["answer"]),
        (&false.into(), &"@every 2h".into(), &"FIRED".into())
    );
    assert_eq!(shell.ok(&["schedules", "enable", "Report", "tick"]), "enabled: tick\n");
    assert_eq!(shell.ok(&["schedules", "remove", "Report", "tick"]), "removed: tick\n");
    shell.run(&["schedules", "remove", "Report", "tick"]).says(2, &["no schedule tick"]);
    shell.run(&["schedules", "run", "Report", "tick"]).says(2, &["there is no schedule \"tick\""]);
    assert_eq!(items(&shell), "1");
}

#[test]
fn a_mistake_in_a_description_has_its_line() {
    let shell = Shell::empty();
    for (from, to, words) in [
        ("0 3 * * MON-FRI", "0 3 31 2 *", "line 7: schedule[0].cron: \"0 3 31 2 *\" names a date that never comes"),
        ("Europe/Zurich", "Europe/Zürich", "line 8: schedule[0].zone: there is no zone"),
        ("N = 1", "M = 1", "line 9: schedule[0].item:"),
        ("it's <nightly>", "", "line 6: schedule[0].name: "),
    ] {
        shell.write("report.toml", &SPEC.replace(from, to));
        shell.run(&["install", "report.toml"]).says(2, &[words]);
    }
}

#[test]
fn the_page_shows_schedules_and_runs_them_for_those_who_may() {
    let shell = reporting();
    let reads = Served::start(&shell, &[]).ready();
    let page = reads.get("/schedules");
    page.shows(&["it&#x27;s &lt;nightly&gt;", "0 3 * * MON-FRI", "Europe&#x2f;Zurich", "At 03:00"]);
    assert!(!page.body.contains("Run now"));
    reads.get("/schedules?format=json").shows(&["\"upcoming\""]);
    assert_eq!(reads.submit("/queue/Report/schedule", "name=it%27s+%3Cnightly%3E&verb=run").status, 403);
    assert_eq!(items(&shell), "0");

    let acts = Served::start(&shell, &["--allow-actions"]).ready();
    let body = acts.get("/schedules").shows(&["Run now", "Switch off"]).body.clone();
    let secret = body.split("name=\"secret\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let act = |verb: &str, secret: &str| {
        acts.submit("/queue/Report/schedule", &format!("secret={secret}&name=it%27s+%3Cnightly%3E&verb={verb}")).status
    };
    assert_eq!((act("run", "x"), act("fly", secret)), (403, 400));
    assert_eq!((act("run", secret), act("disable", secret)), (303, 303));
    assert_eq!(items(&shell), "1");
    acts.get("/schedules").shows(&["Switch on", "FIRED"]);
    acts.get("/operations").shows(&["run schedule", "disable schedule"]);
    assert!(acts.get("/metrics").body.contains("# TYPE readpast_schedule_late_seconds gauge"));
}
