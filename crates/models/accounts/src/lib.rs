//! Who the user is to a vendor: sign-in flows, the file with tokens and keys, and tokens that are fresh when asked for.
//!
//! * [`Auth`] is the whole of it for callers: [`Auth::connect`], [`Auth::access_token`], [`Auth::set_key`], [`Auth::status`].
//! * `flow`, `browser`, `device`: the flows; `callback` is the only place that listens, on loopback alone.
//! * `limits`: how much of an account is used up; `cloud_code`: which models Antigravity has, and the project they are asked under.
//! * `tokens`: the token endpoint; `refresh`: many callers, one request; `credentials`: the file.
//!
//! Knows no dialect, opens no browser, prints nothing, and reads the environment only through what it is given.
//! No secret is in any `Debug`, message, event or told URL.

mod account;
mod auth;
mod browser;
mod callback;
mod claims;
mod cloud_code;
mod config;
mod credentials;
mod device;
mod faults;
mod flow;
mod form;
mod limits;
mod pkce;
mod presence;
mod refresh;
mod timer;
mod tokens;

pub use account::{Account, Key, StoredAccounts};
pub use auth::Auth;
pub use cloud_code::CloudModel;
pub use config::{
    AccountsConfig, Device, DeviceStyle, Environment, Issuer, Limits, Lookup, Redirect, safe_url, usage_url,
};
pub use credentials::Replace;
pub use limits::{LimitWindow, ModelLimit, OpenAiLimits};
pub use timer::{SystemTimer, Timer};
