use super::*;
use jiff::civil::DateTime;

/// The next times of a rule after a local time, as local times with their offset.
fn after(cron: &str, zone: &str, local: &str, count: usize) -> Vec<String> {
    let rule = Rule::new(cron, zone).unwrap();
    let zone = TimeZoneDatabase::bundled().get(zone).unwrap();
    let mut at = local.parse::<DateTime>().unwrap().to_zoned(zone.clone()).unwrap().timestamp().as_second();
    let mut times = Vec::new();
    for _ in 0..count {
        at = rule.next(Some(at), at).unwrap();
        times
            .push(Timestamp::from_second(at).unwrap().to_zoned(zone.clone()).strftime("%m-%d %H:%M:%S %z").to_string());
    }
    times
}

fn mistake(cron: &str, zone: &str) -> (&'static str, String) {
    Rule::new(cron, zone).unwrap_err()
}

#[test]
fn a_time_that_the_clock_skips_comes_right_after_the_gap() {
    let times = after("30 2 * * *", "Europe/Zurich", "2026-03-28T12:00", 2);
    assert_eq!(times, ["03-29 03:00:00 +0200", "03-30 02:30:00 +0200"]);
    let times = after("0 3 * * *", "Europe/Zurich", "2026-03-28T12:00", 2);
    assert_eq!(times, ["03-29 03:00:00 +0200", "03-30 03:00:00 +0200"]);
    // A gap of half an hour.
    let times = after("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T23:00", 2);
    assert_eq!(times, ["10-04 02:30:00 +1100", "10-05 02:15:00 +1100"]);
}

#[test]
fn a_time_that_the_clock_repeats_comes_once() {
    let times = after("30 2 * * *", "Europe/Zurich", "2026-10-24T23:00", 2);
    assert_eq!(times, ["10-25 02:30:00 +0200", "10-26 02:30:00 +0100"]);
    let times = after("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T23:00", 2);
    assert_eq!(times, ["04-05 01:45:00 +1100", "04-06 01:45:00 +1030"]);
}

#[test]
fn rules_of_every_hour_or_some_minutes_go_by_the_time_that_passes() {
    let times = after("0 * * * *", "Europe/Zurich", "2026-10-25T01:30", 4);
    assert_eq!(times, ["10-25 02:00:00 +0200", "10-25 02:00:00 +0100", "10-25 03:00:00 +0100", "10-25 04:00:00 +0100"]);
    let times = after("0 * * * *", "Europe/Zurich", "2026-03-29T00:30", 3);
    assert_eq!(times, ["03-29 01:00:00 +0100", "03-29 03:00:00 +0200", "03-29 04:00:00 +0200"]);
    let times = after("*/15 * * * *", "Australia/Lord_Howe", "2026-04-05T01:40", 4);
    assert_eq!(times, ["04-05 01:45:00 +1100", "04-05 01:30:00 +1030", "04-05 01:45:00 +1030", "04-05 02:00:00 +1030"]);
}

#[test]
fn ends_of_months_and_years_and_leap_days_are_known() {
    let times = after("0 0 L * *", "UTC", "2027-12-15T00:00", 4);
    assert_eq!(times, ["12-31 00:00:00 +0000", "01-31 00:00:00 +0000", "02-29 00:00:00 +0000", "03-31 00:00:00 +0000"]);
    let rule = Rule::new("0 0 29 2 *", "UTC").unwrap();
    let in_2096 = "2096-03-01T00:00:00Z".parse::<Timestamp>().unwrap().as_second();
    let next = Timestamp::from_second(rule.next(None, in_2096).unwrap()).unwrap();
    assert_eq!(next.to_string(), "2104-02-29T00:00:00Z", "2100 has none");
    assert_eq!(after("0 3 * * MON-FRI", "Asia/Kolkata", "2026-11-27T12:00", 1), ["11-30 03:00:00 +0530"]);
    assert_eq!(after("@yearly", "UTC", "2026-12-31T23:59:59", 1), ["01-01 00:00:00 +0000"]);
    assert_eq!(
        after("*/20 * * * * *", "UTC", "2026-12-31T23:59:45", 2),
        ["01-01 00:00:00 +0000", "01-01 00:00:20 +0000"]
    );
}

#[test]
fn a_period_goes_on_from_its_last_time_and_leaves_missed_ones_out() {
    let rule = Rule::new("@every 90s", "UTC").unwrap();
    assert_eq!(rule.next(None, 1000), Some(1090));
    assert_eq!(rule.next(Some(1000), 1000), Some(1090));
    assert_eq!(rule.next(Some(1000), 1090), Some(1180));
    assert_eq!(rule.next(Some(1000), 1500), Some(1540));
    assert_eq!(rule.next(Some(1000), 900), Some(1090));
    assert_eq!(rule.words(), "Every 90 seconds");
}

#[test]
fn rules_and_zones_that_mean_nothing_are_refused_at_their_place() {
    for cron in [
        "",
        "* * * *",
        "60 * * * *",
        "0 24 * * *",
        "0 0 0 * *",
        "* * * 13 *",
        "1-5/0 * * * *",
        "a b c d e",
        "@reboot",
        "0-100000000 * * * *",
        "99999999999999999999 * * * *",
        "@every",
        "@every 0s",
        "@every 1.5s",
        "@every -5s",
        "@every 367d",
        "@every 99999999999999999999s",
        "@every 5x",
        "@every s",
    ] {
        assert_eq!(mistake(cron, "UTC").0, "cron", "{cron}");
    }
    assert_eq!(mistake(&"0 ".repeat(1000), "UTC"), ("cron", "is longer than 200 characters".to_owned()));
    for cron in ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *"] {
        assert!(mistake(cron, "UTC").1.contains("never comes"), "{cron}");
    }
    for zone in ["", "Nowhere/Else", "CET+1", "Europe/Zürich", "../etc/passwd"] {
        assert_eq!(mistake("0 3 * * *", zone).0, "zone", "{zone}");
    }
}
