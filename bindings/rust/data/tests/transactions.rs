//! Each driver in a transaction of the test's own, on the PostgreSQL of PGHOST and PGPORT with the queues Transfer and Notice; tiberius on
//! the SQL Server of READPAST_DATA_TIBERIUS (`host,port,user,password,database`), where that is set.

#![cfg(all(feature = "tokio-postgres", feature = "postgres", feature = "sqlx", feature = "tiberius"))]

use readpast_data::{NewItem, Queue, Receipt};
use serde_json::json;
use std::env;
use std::time::Duration;
use tokio_util::compat::TokioAsyncWriteCompatExt;

const QUEUES: [&str; 2] = ["Transfer", "Notice"];

fn item(amount: i32, work: &str) -> NewItem {
    let delay = (amount == 1).then_some(Duration::from_millis(1));
    NewItem { delay, ..NewItem::of(&json!({"amount": amount, "Work": work})).unwrap() }
}

fn parameters() -> String {
    let of = |name: &str| env::var(name).unwrap_or_else(|_| panic!("set {name}; tests/callers/test.sh does"));
    format!(
        "host={} port={} user={} password={} dbname={}",
        of("PGHOST"),
        of("PGPORT"),
        of("PGUSER"),
        of("PGPASSWORD"),
        of("PGDATABASE")
    )
}

/// Both items are new the first time, and the same the second time; work that is there is a duplicate with its key.
fn judge(driver: &str, [first, again, other]: [&[Receipt]; 3]) {
    assert_eq!(first.len(), 2, "{driver}");
    assert!(first.iter().all(|receipt| !receipt.is_duplicate && receipt.key.is_some()), "{driver}: {first:?}");
    assert_ne!(first[0].key, first[1].key, "{driver}");
    assert_eq!(first, again, "{driver}");
    assert!(other[0].is_duplicate && other[0].key == first[1].key, "{driver}: {other:?} {first:?}");
}

/// The identity of a call of its own for each driver and queue.
fn operation(driver: usize, queue: usize) -> String {
    format!("00000000-0000-0000-0000-0000000{driver:02}{queue:03}")
}

fn works(driver: &str) -> [NewItem; 2] {
    [item(1, &format!("{driver} 1")), item(2, &format!("{driver} 2"))]
}

#[tokio::test(flavor = "current_thread")]
async fn items_are_there_with_the_commit_of_tokio_postgres() {
    let connect = || async {
        let (client, connection) = tokio_postgres::connect(&parameters(), tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    };
    let (mut client, other) = (connect().await, connect().await);
    for (at, name) in QUEUES.into_iter().enumerate() {
        let (queue, items) = (Queue::postgres(name), works("tokio"));
        let (id, table) = (operation(1, at), ["transfer", "notices"][at]);
        let seen = format!("SELECT COUNT(*) FROM readpast.{table} WHERE work LIKE 'tokio%'");
        let mut calls = Vec::new();
        for commits in [false, true, true] {
            let transaction = client.transaction().await.unwrap();
            let receipts =
                readpast_data::tokio_postgres::enqueue(&transaction, &queue, &items, Some(&id)).await.unwrap();
            let count: i64 = other.query_one(&seen, &[]).await.unwrap().get(0);
            assert_eq!(count, if calls.is_empty() { 0 } else { 2 }, "before the commit");
            if commits {
                transaction.commit().await.unwrap();
                calls.push(receipts);
            } else {
                transaction.rollback().await.unwrap();
            }
        }
        let transaction = client.transaction().await.unwrap();
        let last = readpast_data::tokio_postgres::enqueue(&transaction, &queue, &items[1..], None).await.unwrap();
        transaction.commit().await.unwrap();
        judge("tokio-postgres", [&calls[0], &calls[1], &last]);
        let error = readpast_data::tokio_postgres::enqueue(&client, &queue, &[item(3, &"x".repeat(99))], None).await;
        assert!(error.unwrap_err().downcast_ref::<tokio_postgres::Error>().is_some(), "the driver's own");
    }
}

#[test]
fn items_are_there_with_the_commit_of_postgres() {
    let mut client = postgres::Client::connect(&parameters(), postgres::NoTls).unwrap();
    for (at, name) in QUEUES.into_iter().enumerate() {
        let (queue, items, id) = (Queue::postgres(name), works("sync"), operation(2, at));
        let mut call = |items: &[NewItem], id| {
            let mut transaction = client.transaction().unwrap();
            let receipts = readpast_data::postgres::enqueue(&mut transaction, &queue, items, id).unwrap();
            transaction.commit().unwrap();
            receipts
        };
        let calls = [call(&items, Some(&*id)), call(&items, Some(&*id)), call(&items[1..], None)];
        judge("postgres", calls.each_ref().map(Vec::as_slice));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn items_are_there_with_the_commit_of_sqlx() {
    // It reads PGHOST and the others itself.
    let pool = sqlx::PgPool::connect_with(sqlx::postgres::PgConnectOptions::new()).await.unwrap();
    for (at, name) in QUEUES.into_iter().enumerate() {
        let (queue, items, id) = (Queue::postgres(name), works("sqlx"), operation(3, at));
        let mut calls = Vec::new();
        for (items, id) in [(&items[..], Some(&*id)), (&items, Some(&id)), (&items[1..], None)] {
            let mut transaction = pool.begin().await.unwrap();
            calls.push(readpast_data::sqlx::enqueue(&mut transaction, &queue, items, id).await.unwrap());
            transaction.commit().await.unwrap();
        }
        judge("sqlx", [&calls[0], &calls[1], &calls[2]]);
    }
}

#[tokio::test(flavor = "current_thread")]
async fn items_are_there_with_the_commit_of_tiberius() {
    let Ok(server) = env::var("READPAST_DATA_TIBERIUS") else {
        eprintln!("tiberius: READPAST_DATA_TIBERIUS is not set: left out");
        return;
    };
    let parts: Vec<_> = server.split(',').collect();
    let mut config = tiberius::Config::new();
    config.host(parts[0]);
    config.port(parts[1].parse().unwrap());
    config.authentication(tiberius::AuthMethod::sql_server(parts[2], parts[3]));
    config.database(parts[4]);
    config.encryption(tiberius::EncryptionLevel::NotSupported);
    let tcp = tokio::net::TcpStream::connect(config.get_addr()).await.unwrap();
    let mut client = tiberius::Client::connect(config, tcp.compat_write()).await.unwrap();
    for (at, name) in QUEUES.into_iter().enumerate() {
        let (queue, items, id) = (Queue::sql_server(name), works("tiberius"), operation(4, at));
        let mut calls = Vec::new();
        for (items, id) in [(&items[..], Some(&*id)), (&items, Some(&id)), (&items[1..], None)] {
            client.simple_query("BEGIN TRANSACTION").await.unwrap().into_results().await.unwrap();
            calls.push(readpast_data::tiberius::enqueue(&mut client, &queue, items, id).await.unwrap());
            client.simple_query("COMMIT TRANSACTION").await.unwrap().into_results().await.unwrap();
        }
        judge("tiberius", [&calls[0], &calls[1], &calls[2]]);
    }
}
