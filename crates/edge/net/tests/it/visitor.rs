//! URLs that a model names: where they may lead, straight and through a proxy.

use std::time::Duration;

use net::{AddressPolicy, NetFault, Proxy, ProxyRules, Route, Url, Visitor};
use testkit::mock_model::MockModel;
use testkit::peers::{Authority, Tunnels};

/// An address of the public internet; nothing of it is reached but through the proxy of a test.
const PUBLIC: &str = "93.184.216.34";

fn visitor(addresses: AddressPolicy, proxy: &Tunnels, authority: &Authority) -> Visitor {
    let address = format!("http://127.0.0.1:{}", proxy.port);
    let proxies = ProxyRules::from_env(|name| (name == "HTTPS_PROXY").then(|| address.clone()));
    assert_eq!(proxies.proxy("https://a.example/"), Proxy::new(&address));
    Visitor::new(addresses, Route { proxies, ca_file: Some(authority.file.clone()) }, Duration::from_secs(10))
}

async fn status(visitor: &Visitor, url: &str) -> Result<u16, NetFault> {
    let endpoint = visitor.endpoint(&Url::parse(url).unwrap()).unwrap();
    let answer = endpoint.get("*/*").await?;
    Ok(answer.status)
}

#[tokio::test]
async fn an_address_of_the_internet_is_reached_through_the_proxy() {
    let mock = MockModel::start().await;
    let authority = Authority::new();
    let front = authority.front(PUBLIC, mock.port).await;
    let proxy = Tunnels::start(Some(front.port)).await;
    let visitor = visitor(AddressPolicy::Public, &proxy, &authority);
    assert_eq!(status(&visitor, &format!("https://{PUBLIC}/v1/models")).await, Ok(200));
    assert!(proxy.seen().heads[0].starts_with(&format!("CONNECT {PUBLIC}:443 ")), "{:?}", proxy.seen().heads);
    // Another host at the end of the tunnel does not get the request: it cannot prove to be the one that was asked for.
    let fault = status(&visitor, "https://93.184.216.35/v1/models").await.unwrap_err();
    assert_eq!(fault.cause, "its certificate is for another name");
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test]
async fn a_name_that_nothing_here_knows_is_not_asked_of_the_proxy() {
    let mock = MockModel::start().await;
    let authority = Authority::new();
    let front = authority.front("intranet.invalid", mock.port).await;
    let proxy = Tunnels::start(Some(front.port)).await;
    let url = "https://intranet.invalid/v1/models";
    let fault = status(&visitor(AddressPolicy::Public, &proxy, &authority), url).await.unwrap_err();
    assert!(fault.cause.contains("cannot be looked up here"), "{fault:?}");
    assert_eq!((proxy.seen().heads.len(), mock.requests().len()), (0, 0));
    // What the user's own configuration names is the proxy's to find.
    assert_eq!(status(&visitor(AddressPolicy::Anywhere, &proxy, &authority), url).await, Ok(200));
}

#[tokio::test]
async fn this_machine_is_not_the_proxys() {
    let mock = MockModel::start().await;
    let authority = Authority::new();
    for host in ["localhost", "127.0.0.1"] {
        let front = authority.front(host, mock.port).await;
        let proxy = Tunnels::start(Some(front.port)).await;
        let visitor = visitor(AddressPolicy::Public, &proxy, &authority);
        assert_eq!(status(&visitor, &format!("https://{host}:{}/v1/models", front.port)).await, Ok(200));
        assert_eq!(proxy.seen().heads.len(), 0, "{host}");
    }
}
