//! The columns by which a queue is spread over several databases, and the options that they go with.

use readpast::QueueSpec;

fn spread(by: &str, more: &str) -> Result<QueueSpec, readpast::Error> {
    QueueSpec::from_json(&format!(
        r#"{{"queue": "Work", "columns": [{{"name": "Customer", "type": "integer"}}, {{"name": "Region", "type": "text(9)"}},
            {{"name": "Day", "type": "date"}}, {{"name": "Id", "type": "guid"}}, {{"name": "At", "type": "timestamp"}},
            {{"name": "Sum", "type": "decimal(9, 2)"}}, {{"name": "Number", "type": "bigint", "default": 7}},
            {{"name": "Secret", "type": "integer", "secret": true}}], "spread_by": {by}{more}}}"#
    ))
}

#[test]
fn columns_whose_values_have_no_one_text_are_refused() {
    for (by, words) in [
        ("5", "spread_by: must be a list of at least one value, not 5"),
        ("[]", "spread_by: must be a list of at least one value"),
        (r#"["Nobody"]"#, "spread_by[0]: there is no column \"Nobody\"; there are Customer"),
        (r#"["Type"]"#, "spread_by[0]: there is no column \"Type\""),
        (r#"["Region", "region"]"#, "spread_by[1]"),
        (r#"["Region", "At"]"#, "spread_by[1]: has to be an integer, bigint, guid, date or text"),
        (r#"["Sum"]"#, "not decimal(9, 2)"),
        (r#"["Number"]"#, "spread_by[0]: cannot have a default"),
        (r#"["Secret"]"#, "spread_by[0]: cannot be secret"),
        (r#"["Customer", "Region", "Day", "Id", "Number"]"#, "spread_by: has 5 columns; 4 are the most"),
    ] {
        let error = spread(by, "").expect_err(by);
        assert!(error.message().contains(words), "{by}: {error}");
    }
}

#[test]
fn items_that_belong_together_are_at_one_place() {
    for (more, words) in [
        (r#", "order": {"group": "Region"}"#, "among the columns of order.group"),
        (r#", "dedup": {"columns": ["Region"]}"#, "among the columns of dedup"),
        (r#", "limit": [{"by": "Region", "at_once": 1}]"#, "among the columns of each limit"),
        (r#", "limit": [{"by": "Customer", "at_once": 1}, {"at_once": 9}]"#, "among the columns of each limit"),
        (r#", "after": true"#, "cannot be beside after"),
        (
            r#", "schedule": [{"name": "n", "cron": "@daily", "zone": "UTC", "item": {}}]"#,
            "cannot be beside a schedule",
        ),
    ] {
        let error = spread(r#"["Customer"]"#, more).expect_err(more);
        assert!(error.message().contains("spread_by") && error.message().contains(words), "{more}: {error}");
    }
    for (by, more) in [
        (r#"["Customer"]"#, r#", "order": {"group": "Customer"}, "schedule": []"#),
        (
            r#"["Customer"]"#,
            r#", "dedup": {"columns": ["Region", "Customer"]}, "limit": [{"by": "Customer", "at_once": 1}]"#,
        ),
        (r#"["Customer", "Region"]"#, r#", "dedup": {"columns": ["Region", "Customer", "Day"]}"#),
        (r#"["Customer", "Region", "Day", "Id"]"#, ""),
    ] {
        let spec = spread(by, more).unwrap();
        assert_eq!(QueueSpec::from_json(&spec.to_json()).unwrap(), spec);
    }
}
