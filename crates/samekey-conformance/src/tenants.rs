//! Projects and API keys.

use samekey_core::store::Projects;
use samekey_core::tenant::ApiKeyHash;

use crate::case::cases;
use crate::harness::{Bench, Harness};

cases! { over Harness:
    a_project_has_one_name
    an_api_key_opens_its_project_until_it_is_revoked
}

async fn a_project_has_one_name<H: Harness>(Bench { store, .. }: Bench<H>) {
    let shop = store.create_project("shop").await.unwrap().unwrap();
    assert_eq!(store.create_project("shop").await.unwrap(), None);
    let other = store.create_project("Shop").await.unwrap().unwrap();
    assert_ne!(shop.id, other.id);
    let mut names: Vec<_> = store.projects().await.unwrap().into_iter().map(|project| project.name).collect();
    names.sort();
    assert_eq!(names, ["Shop", "shop"]);
}

async fn an_api_key_opens_its_project_until_it_is_revoked<H: Harness>(Bench { store, .. }: Bench<H>) {
    let [shop, other] = [store.create_project("a"), store.create_project("b")].map(Box::pin);
    let (shop, other) = (shop.await.unwrap().unwrap().id, other.await.unwrap().unwrap().id);
    let hash = ApiKeyHash::of("sk_secret");
    assert_eq!(store.authenticate(hash).await.unwrap(), None);
    let key = store.create_api_key(shop, hash, "cret").await.unwrap();
    assert_eq!((key.hint.as_str(), key.revoked_at), ("cret", None));
    assert_eq!(store.authenticate(hash).await.unwrap(), Some(shop));
    assert_eq!(store.authenticate(ApiKeyHash::of("sk_Secret")).await.unwrap(), None);
    assert!(!store.revoke_api_key(other, key.id).await.unwrap(), "another project's key");
    assert!(store.revoke_api_key(shop, key.id).await.unwrap());
    assert!(!store.revoke_api_key(shop, key.id).await.unwrap(), "revoked twice");
    assert_eq!(store.authenticate(hash).await.unwrap(), None);
    assert!(store.api_keys(shop).await.unwrap()[0].revoked_at.is_some());
    assert_eq!(store.api_keys(other).await.unwrap(), []);
}
