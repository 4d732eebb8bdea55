//! The tools of the web go the way that model calls go: through the proxy, and with the authorities of `ca_file`.

use std::path::PathBuf;

use builtin_tools::web_fetch::FetchOptions;
use builtin_tools::web_search::SearchOptions;
use net::{ProxyRules, Route};
use serde_json::json;
use testkit::peers::{Authority, Tunnels};
use vocab::Required;

use crate::web::{PageServer, fetch_as, shown};
use crate::web_search::{CANARY, SearchServer, search};

/// An address of the public internet; nothing of it is reached but through the proxy of a test.
const PUBLIC: &str = "93.184.216.34";

fn route(proxy: Option<&Tunnels>, ca_file: Option<PathBuf>) -> Route {
    let address = proxy.map(|proxy| format!("http://127.0.0.1:{}", proxy.port));
    Route { proxies: ProxyRules::from_env(|name| address.clone().filter(|_| name == "HTTPS_PROXY")), ca_file }
}

async fn fetch(url: &str, route: Route) -> (String, bool) {
    let options = FetchOptions { route, ..FetchOptions::default() };
    shown(&fetch_as(json!({ "url": url }), Required::DangerFullAccess, options).await)
}

#[tokio::test]
async fn a_page_comes_through_the_proxy_and_its_redirects_do() {
    let server = PageServer::start();
    let authority = Authority::new();
    let front = authority.front(PUBLIC, server.address.port()).await;
    let proxy = Tunnels::start(Some(front.port)).await;
    let route = route(Some(&proxy), Some(authority.file.clone()));
    let (text, is_error) = fetch(&format!("https://{PUBLIC}/to-page"), route.clone()).await;
    assert!(!is_error && text.starts_with(&format!("[redirected to https://{PUBLIC}/page]\n# Hi")), "{text}");
    {
        let seen = proxy.seen();
        assert_eq!(seen.heads.len(), 2, "a connection for each hop");
        assert!(seen.heads.iter().all(|head| head.starts_with(&format!("CONNECT {PUBLIC}:443 "))), "{:?}", seen.heads);
        assert!(!String::from_utf8_lossy(&seen.bytes).contains("Hi &amp; lo"));
    }
    // A plain page is reached straight, as a plain model is.
    let plain = format!("http://{}/json", server.address);
    assert_eq!(fetch(&plain, route.clone()).await, ("{\"a\":[1,2]}".into(), false));
    assert_eq!(proxy.seen().heads.len(), 2);
    // No redirect leads from the proxy to this machine.
    let before = server.requests.lock().unwrap().len();
    let (text, is_error) = fetch(&format!("https://{PUBLIC}/away?{}", server.address.port()), route).await;
    assert!(is_error && text.contains("another origin"), "{text}");
    assert_eq!(server.requests.lock().unwrap().len(), before + 1);
}

#[tokio::test]
async fn a_proxy_is_not_asked_for_this_machine_nor_for_what_nothing_here_knows() {
    let server = PageServer::start();
    let authority = Authority::new();
    let front = authority.front("localhost", server.address.port()).await;
    let proxy = Tunnels::start(Some(front.port)).await;
    let route = route(Some(&proxy), Some(authority.file.clone()));
    let (text, is_error) = fetch(&format!("https://localhost:{}/json", front.port), route.clone()).await;
    assert!(!is_error && text == "{\"a\":[1,2]}", "{text}");
    let (text, is_error) = fetch("https://intranet.invalid/json", route).await;
    assert!(is_error && text.contains("cannot be looked up here"), "{text}");
    assert_eq!((proxy.seen().heads.len(), server.requests.lock().unwrap().len()), (0, 1));
}

#[tokio::test]
async fn an_authority_of_the_users_own_is_trusted_and_no_other() {
    let server = PageServer::start();
    let (authority, stranger) = (Authority::new(), Authority::new());
    let front = authority.front("localhost", server.address.port()).await;
    let url = format!("https://localhost:{}/json", front.port);
    assert_eq!(fetch(&url, route(None, Some(authority.file.clone()))).await, ("{\"a\":[1,2]}".into(), false));
    for other in [None, Some(stranger.file.clone())] {
        let (text, is_error) = fetch(&url, route(None, other)).await;
        assert!(is_error && text.contains("signed by nobody this machine trusts"), "{text}");
    }
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_search_goes_through_the_proxy_which_does_not_see_the_key() {
    let server = SearchServer::start("200 OK", r#"{"results":[{"url":"https://one.example/","title":"One"}]}"#);
    let port = server.base.rsplit(':').next().unwrap().parse().unwrap();
    let authority = Authority::new();
    // The user's own configuration names it, so a name that only the proxy knows will do.
    let front = authority.front("search.invalid", port).await;
    let proxy = Tunnels::start(Some(front.port)).await;
    let options = |route| SearchOptions { base_url: "https://search.invalid".into(), route, ..server.options() };
    let with = route(Some(&proxy), Some(authority.file.clone()));
    let (text, is_error) = search(options(with), json!({ "query": "q" })).await;
    assert!(!is_error && text.contains("https://one.example/"), "{text}");
    assert!(server.requests.lock().unwrap()[0].contains(CANARY), "it was really sent");
    {
        let seen = proxy.seen();
        assert!(seen.heads[0].starts_with("CONNECT search.invalid:443 "), "{:?}", seen.heads);
        let all = format!("{:?}{}", seen.heads, String::from_utf8_lossy(&seen.bytes));
        assert!(!all.contains("canary") && !all.contains("numResults"), "{all}");
    }
    let (text, is_error) = search(options(route(Some(&proxy), None)), json!({ "query": "q" })).await;
    assert!(is_error && text.contains("signed by nobody this machine trusts"), "{text}");
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}
