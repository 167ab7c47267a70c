use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use ordo_api::openapi;

use ordo_server::testing::{World, request};

#[tokio::test]
async fn the_description_is_open_to_all() {
    let world = World::new().await;
    let answer = world.send(Request::get("/openapi.json").body(Body::empty()).unwrap()).await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(&answer.expect(200), openapi());
}

#[test]
fn the_description_changes_only_on_purpose() {
    let mut document = openapi().clone();
    document["info"]["version"] = "[version]".into();
    insta::with_settings!({ prepend_module_to_snapshot => false, sort_maps => true }, {
        insta::assert_json_snapshot!("openapi", document);
    });
}

/// What each path takes is asked of the server itself: a method it does not have is answered with those it has.
#[tokio::test]
async fn every_route_is_described_and_every_description_has_its_route() {
    let world = World::new().await;
    let described = openapi()["paths"].as_object().unwrap();
    for (path, item) in described {
        let names = ["{id}", "{stream}", "{slug}", "{name}", "{token}"];
        let concrete = names.iter().fold(path.clone(), |path, name| path.replace(name, "x"));
        let answer = world.send(request("TRACE", &concrete).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, 405, "{path}");
        let allowed = answer.header("allow").to_lowercase();
        let taken: BTreeSet<&str> = allowed.split(',').filter(|method| *method != "head").collect();
        assert_eq!(item.as_object().unwrap().keys().map(String::as_str).collect::<BTreeSet<_>>(), taken, "{path}");
    }
}
