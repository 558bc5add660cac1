//! `serve` for machines: metrics, the number of workers, health, and the dashboard that shows them.

use crate::http::Served;
use crate::shell::{mixed, until};

/// Each figure that the dashboard shows is one that there is, with the labels that it goes by.
#[test]
fn the_dashboard_shows_what_there_is() {
    let shell = mixed();
    let served = Served::start(&shell, &[]).ready();
    let body = served.get("/metrics").body;
    let dashboard: serde_json::Value = serde_json::from_str(include_str!("../../../docs/grafana.json")).unwrap();
    let targets = dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array());
    let mut shown = std::collections::BTreeSet::new();
    for target in targets.flatten() {
        let expression = target["expr"].as_str().unwrap();
        for (at, _) in expression.match_indices("readpast_") {
            let name: String =
                expression[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            let family = name.strip_suffix("_bucket").unwrap_or(&name);
            assert!(body.contains(&format!("# TYPE {family} ")), "there is no {family}: {expression}");
            // Calls that were not made have no samples.
            let samples: Vec<_> = body.lines().filter(|line| line.starts_with(&format!("{name}{{"))).collect();
            let by = expression.split("by (").nth(1).map(|rest| rest.split(')').next().unwrap()).unwrap_or_default();
            for label in by.split(", ").chain(["queue"]).filter(|label| !label.is_empty()) {
                let has = |line: &&str| line.contains(&format!("{label}=\""));
                assert!(samples.iter().all(has), "{name} has no label {label}: {samples:?}");
            }
            shown.insert(family.to_owned());
        }
    }
    // And each figure of a process that has queues is shown.
    for family in readpast::metrics().families().iter().filter(|family| family.name() != "readpast_build_info") {
        let is_wait = family.name() == "readpast_pool_waits_total";
        assert!(is_wait || shown.contains(family.name()), "{} is in no panel", family.name());
    }
}

/// The rules of `promtool check metrics`: each sample has its name declared before it, once, with a help, and a number for its value;
/// and names, suffixes and labels are those of its kind.
#[track_caller]
fn is_by_the_conventions(text: &str) {
    let (mut declared, mut helped): (Vec<(&str, &str)>, Vec<&str>) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(!declared.iter().any(|(known, _)| *known == name), "{name} twice");
            assert_eq!(helped.last(), Some(&name), "the help comes first");
            assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
            let of_histograms = ["_bucket", "_sum", "_count", "_info"].iter().any(|suffix| name.ends_with(suffix));
            assert!(!of_histograms || name == "readpast_build_info", "{line}");
            let abbreviated = ["_ms", "_millis", "_milliseconds", "_s", "_sec", "_minutes", "_hours", "_kb", "_pct"];
            assert!(!abbreviated.iter().any(|unit| name.trim_end_matches("_total").ends_with(unit)), "{line}");
            declared.push((name, kind));
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.trim().is_empty(), "{line}");
            helped.push(name);
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let (last, kind) = *declared.last().unwrap();
            let suffixes = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
            assert!(last == name || (kind == "histogram" && suffixes == Some(last)), "{line}");
            assert_eq!(series.contains("quantile=\""), kind == "summary", "{line}: {kind}");
            let has_bound = series.contains("{le=\"") || series.contains(",le=\"");
            assert_eq!(has_bound, kind == "histogram" && name.ends_with("_bucket"), "{line}: {kind}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
}

#[test]
fn figures_are_there_for_machines() {
    let shell = mixed();
    let served = Served::start(&shell, &[]).ready();
    let reply = served.get("/metrics");
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    reply.shows(&[
        "readpast_queue_items{queue=\"Mail\",state=\"Failed\"} 2\n",
        "readpast_queue_due_items{queue=\"Mail\"} 1\n",
        "readpast_queue_up{queue=\"Mail\"} 1\n",
        "# TYPE readpast_queue_oldest_due_seconds gauge\n",
        // Figures of this process, by the same writer.
        "# TYPE readpast_call_duration_seconds histogram\n",
        "readpast_claimed_items_total{schema=\"readpast\",queue=\"Mail\"} 0\n",
    ]);
    is_by_the_conventions(&reply.body);
    let scale: serde_json::Value = serde_json::from_str(&served.get("/scale/Mail").body).unwrap();
    assert_eq!((&scale["workers_needed"], &scale["from"]), (&1.into(), &"arrivals".into()));
    assert_eq!((&scale["depth_in_an_hour"], &scale["workers_to_catch_up"]), (&serde_json::Value::Null, &1.into()));
    let of_type = served.get("/scale/Mail?type=Email").body;
    let of_type: serde_json::Value = serde_json::from_str(&of_type).unwrap();
    assert_eq!(
        (&of_type["type"], &of_type["workers_needed"], &of_type["due"]),
        (&"Email".into(), &1.into(), &1.into())
    );
    assert_eq!(served.get("/scale/Mail?type=Moon").status, 404);
    reply.shows(&[
        "# TYPE readpast_queue_depth_in_an_hour_items gauge\n",
        "readpast_queue_type_due_items{queue=\"Mail\",type=\"Email\"} 1\n",
        "readpast_queue_type_workers_needed{queue=\"Mail\",type=\"Email\"} 1\n",
    ]);
    served.get("/queue/Mail").shows(&["Types of work", "Sms", "Forecast, 1 h", "not known yet"]);
    assert_eq!(served.get("/scale/Nope").status, 404);
    assert_eq!(served.get("/health/live").status, 200);

    shell.look("DROP FUNCTION readpast.watch_mail; SELECT 1");
    until("the loss is noticed", || served.get("/health/ready").status == 503);
    served.get("/metrics").shows(&["readpast_queue_up{queue=\"Mail\"} 0\n"]);
    served.get("/queue/Mail").shows(&["The last query failed", "boom"]);
    assert_eq!(served.get("/scale/Mail").status, 503);
}
