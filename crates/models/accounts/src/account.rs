//! Whose accounts and keys there can be, and which of them there are.

use vocab::{AccountName, Profile};

/// An account that is signed in to by a flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Account {
    OpenAi,
    Antigravity,
}

impl Account {
    pub const ALL: [Account; 2] = [Account::OpenAi, Account::Antigravity];

    pub const fn name(self) -> &'static str {
        match self {
            Account::OpenAi => "openai",
            Account::Antigravity => "antigravity",
        }
    }

    /// As everybody else knows it.
    pub const fn known_as(self) -> AccountName {
        AccountName::new(self.name())
    }

    pub fn of(name: AccountName) -> Option<Self> {
        Self::ALL.into_iter().find(|account| account.known_as() == name)
    }
}

/// A key that the user brings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    OpenRouter,
    Exa,
}

impl Key {
    pub const ALL: [Key; 2] = [Key::OpenRouter, Key::Exa];

    /// As everybody else knows the account that it stands for.
    pub const fn known_as(self) -> AccountName {
        AccountName::new(match self {
            Key::OpenRouter => "openrouter",
            Key::Exa => "exa",
        })
    }

    pub fn of(name: AccountName) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.known_as() == name)
    }
}

/// Which accounts and keys are kept, without any of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StoredAccounts {
    pub openai: bool,
    pub openai_account_id: Option<String>,
    pub antigravity: bool,
    pub antigravity_profile: Option<Profile>,
    pub openrouter: bool,
    pub exa: bool,
}

impl StoredAccounts {
    /// One of them gives access to models.
    pub fn has_model(&self) -> bool {
        self.openai || self.antigravity || self.openrouter
    }
}
