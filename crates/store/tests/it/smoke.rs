use model::*;
use store::*;
#[tokio::test]
async fn smoke() {
    let db = Db::open("sqlite::memory:", Options::default()).await.unwrap();
    for s in statements() { if let Err(e) = db.prepare(s).await { panic!("{e}"); } }
    let t = TenantId::new(uuid::Uuid::from_u128(1));
    let mut tx = db.write_directory().await.unwrap();
    tenants::insert(&mut tx, &tenants::Tenant { id: t, name: "x".into(), slug: "x".into(), created_at: RecordTime::from_micros(1) }).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = db.read_directory().await.unwrap();
    assert_eq!(tenants::list(&mut tx).await.unwrap().len(), 1);
}
