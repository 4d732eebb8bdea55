//! Which models exist, and which one is meant. Commands, dialects and the engine all get their answer here.
//!
//! * [`Catalogue`]: every source of models in one list, asked in one order; the engine's [`vocab::Provider`].
//! * [`choose`]: the model to start with, and why.
//! * [`from_configuration`]: what the user's files and environment say about models.
//! * [`gather`]: vendors whose key is known, and what the configuration describes.
//! * [`AccountModels`]: models that come and go with the user's accounts.

mod account_keys;
mod account_models;
mod auto;
mod border;
mod built_in;
mod catalogue;
mod checkup;
mod choose;
mod configured;
mod described;
mod from_configuration;
mod keys;
mod left_out;
mod names;
mod owned_keys;
mod pairing;
mod pick;
mod server;
mod settings;
mod source;
mod sources_report;
mod suggest;
#[cfg(test)]
mod tests;
mod user_accounts;
mod vendors;

pub use account_keys::{AccountSettings, UserKey, checked, sign_ins};
pub use account_models::{AccountModels, KeySet, ModelSource};
pub use border::{FileBorder, OnlyShown};
pub use built_in::is_built_in;
pub use catalogue::Catalogue;
pub use checkup::Reached;
pub use choose::{Chosen, choose};
pub use from_configuration::from_configuration;
pub use left_out::LeftOut;
pub use names::ModelNames;
pub use owned_keys::OwnedKeys;
pub use settings::{Lookout, ModelSettings, Wanted};
pub use source::SourceKind;
pub use sources_report::{SourceReport, Standing};
pub use user_accounts::{UsedUp, UserAccounts};
pub use vendors::{Gathered, KEYED_VENDORS, KeyedVendor, Provided, built_in, gather, keyed_vendor};
