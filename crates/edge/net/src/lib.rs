//! HTTP as everything that leaves this machine speaks it: connections, TLS, proxies, limits, and errors that people can
//! act on. Knows nothing of models, tools or accounts; redirects are answers here, and who follows one knows what it may
//! send along.
//!
//! * [`Http`]: one server that is asked many times, over connections that are kept. Model calls.
//! * [`Endpoint`]: one URL that is asked many times, a connection for each request. MCP servers.
//! * [`Exchange`]: one request and its whole answer. Sign-ins, tokens, limits.
//! * [`Visitor`]: URLs that a model or a user names, with a guard for the user's own networks. The tools of the web.
//! * [`sse`]: server-sent events from bytes.

pub mod address;
mod bare;
mod body;
mod connection;
mod credentials;
pub mod date;
mod dial;
mod driver;
mod endpoint;
mod exchange;
mod fault;
mod host;
mod http;
mod idle;
mod proxy;
mod resolve;
pub mod sse;
mod tls;
mod url;
mod visitor;

pub use bare::connect;
pub use body::Pieces;
pub use connection::ResponseBody;
pub use credentials::{Credentials, KeyHeader, KnownCredentials, Late, is_key};
pub use endpoint::{Endpoint, StreamedResponse};
pub use exchange::{Exchange, PostBody, WholeResponse};
pub use fault::{MESSAGE_CHARS_MAX, NetFault, cut, error_message, error_object, looks_like_html, redirected, sealed};
pub use host::Host;
pub use http::{Http, HttpConfig, RequestHead};
pub use proxy::{Proxy, ProxyRules};
pub use resolve::AddressPolicy;
pub use tls::{Trust, trust_everywhere};
pub use url::Url;
pub use visitor::{Route, Visitor};

/// The words of HTTP itself.
pub use hyper::{HeaderMap, Method, Response, Uri, header};
