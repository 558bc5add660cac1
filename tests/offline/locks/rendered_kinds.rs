//! Claims that name what they take, by type, by step, or by both: the programs of the model, and the rendered SQL.

use super::programs;
use super::reading::OF_GROUP;
use super::rendered::{FREE, differences, joined, of_model, script};
use super::statement::Program;
use super::world::Index;

/// The program whose claim finds its items by this index.
fn by(index: Index, is_grouped: bool, program: Program) -> Program {
    let program = if index == Index::Due {
        programs::by_one_of(index, program)
    } else {
        programs::of_kinds(index, &[0, 1], program)
    };
    if is_grouped { programs::in_groups(program) } else { program }
}

#[test]
fn the_model_is_of_claims_by_kind() {
    let own_types = r#""claim_by": ["step"], "roles": {"producer": "p", "worker": "w", "own_types_only": true}"#;
    for (options, ways) in [
        (r#""claim_by": ["type"]"#, [Index::TypeDue, Index::Due]),
        (r#""claim_by": ["step"]"#, [Index::StepDue, Index::Due]),
        (r#""claim_by": ["type", "step"]"#, [Index::TypeStepDue, Index::Due]),
        (own_types, [Index::TypeStepDue, Index::TypeDue]),
        (r#""claim_by": ["step"], "order": {"group": "Customer"}"#, [Index::StepDue, Index::Due]),
    ] {
        let is_grouped = options.contains("group");
        let spec = format!(
            r#"{{"queue": "Job", "types": ["A", "B"], "steps": ["a", "b"],
                "columns": [{{"name": "Customer", "type": "text(20)"}}], {options}}}"#
        );
        let batches = script(&spec);
        // Before it searches kind by kind, a claim looks how many of each come first; and at its end, what is due next.
        let looks = ways.map(|index| format!("search {index:?} READPAST"));
        let of_group = looks.each_ref().map(|look| format!("{look}, {}", OF_GROUP.join(", ")));
        for (index, other) in [(ways[0], ways[1]), (ways[1], ways[0])] {
            // A claim goes one of the two ways.
            let other = of_model(&by(other, is_grouped, programs::claim()));
            let other = other.iter().find(|line| line.starts_with("search")).unwrap();
            let looks = looks.iter().chain(&of_group).map(String::as_str);
            // A recovery of its own, after its commit, looks which of the items its caller may see.
            let seen = options.contains("own_types_only").then_some("search");
            let free: Vec<_> = FREE.into_iter().chain([other.as_str()]).chain(seen).chain(looks).collect();
            let program = |program: Program| by(index, is_grouped, program);
            let claim = |recover: Program| program(joined(&[recover, programs::claim()]));
            let found = differences(
                &batches,
                &free,
                &[
                    ("Next_Q_Set_trx", claim(programs::recover())),
                    ("Next_Q_trx", claim(programs::recover())),
                    ("Next_Q_utx", claim(programs::recover_within())),
                    ("Modify_Q_Set_trx", program(programs::settle_and_claim(&[]))),
                    ("Modify_Q_Set_utx", program(programs::settle_and_claim_within(&[]))),
                ],
            );
            assert!(found.is_empty(), "{options} by {index:?}: this is what the rendered SQL has: {found:#?}");
        }
    }
}
