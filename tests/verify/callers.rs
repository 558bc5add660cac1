//! Callers of another isolation level, and a login that may do nothing but EXECUTE.

use crate::place::Place;
use crate::report::Report;
use readpast::Result;

pub fn run(place: &Place, report: &mut Report) -> Result<()> {
    report.chapter("Callers of other isolation levels");
    if let Err(error) = place.administer(&format!("ALTER DATABASE {} SET ALLOW_SNAPSHOT_ISOLATION ON", place.name())) {
        report.unseen("callers of SNAPSHOT", error);
    }
    for level in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "SNAPSHOT"] {
        place.empty()?;
        place.fill(3)?;
        let mut session = place.session()?;
        if let Err(error) = session.execute(&format!("SET TRANSACTION ISOLATION LEVEL {level}"), &[]) {
            report.unseen(&format!("callers of {level}"), error);
            continue;
        }
        let claim = "EXECUTE [readpast].[Next_Job_Set_trx] N'levels', 2, 60000, 1";
        let claimed = session.execute(claim, &[]).map(|rows| rows.len());
        report.expect(matches!(claimed, Ok(2)), format!("a claim of 2 called under {level} gives 2: {claimed:?}"));
        let add =
            session.transaction(|session| session.execute("EXECUTE [readpast].[Add_Job_utx] @Payload = N'level'", &[]));
        let done = add.map(|rows| rows.len());
        report.expect(done.is_ok(), format!("Add_Job_utx in a transaction under {level}: {done:?}"));
    }

    report.chapter("A user with EXECUTE alone");
    let made = place
        .execute("CREATE USER readpast_verify_user WITHOUT LOGIN")
        .and_then(|_| place.execute("ALTER ROLE readpast_verify_worker ADD MEMBER readpast_verify_user"));
    if let Err(error) = made {
        report.unseen("a user with EXECUTE alone", error);
        return Ok(());
    }
    place.empty()?;
    place.fill(3)?;
    let mut session = place.session()?;
    session.execute("EXECUTE AS USER = 'readpast_verify_user'", &[])?;
    let claimed =
        session.execute("EXECUTE [readpast].[Next_Job_Set_trx] N'rights', 2, 60000, 1", &[]).map(|rows| rows.len());
    report.expect(matches!(claimed, Ok(2)), format!("it claims: {claimed:?}"));
    let read = session.execute("SELECT COUNT(*) FROM [readpast].[Job]", &[]).map(drop);
    report.expect(read.is_err(), format!("it may not read the table: {read:?}"));
    Ok(())
}
