//! Codes by which unknown senders are let in. Codes are in memory alone, so that a restart voids them; who was let in is on
//! the shelf.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use dialect_gateway::services::pairing::*;
use dialect_gateway::shape::Nullable;
use dialect_gateway::{Code, GatewayRefusal};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;
use vocab::{Fault, ShelfKind, ShelfPlace, iso8601};

use super::{SharedServices, incident, lock, refused};

/// 32 letters and digits that nobody takes for others: five bits each.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Wrong codes of one sender, and for how long they count.
const WRONG_MAX: usize = 5;
const WRONG_FOR: Duration = Duration::from_secs(3_600);
/// Senders whose wrong codes are remembered; of more the longest ago goes.
const GUESSERS_MAX: usize = 10_000;
/// Senders that are listed.
const APPROVED_SHOWN: usize = 1_000;
const PAIRING: ShelfKind = ShelfKind { name: "pairing", goes_with_session: false };

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairingRules {
    pub enabled: bool,
    pub ttl_ms: i64,
    pub length: usize,
}

/// What is good how long is measured from the start of the process, by a clock that nobody sets; the other one is shown.
#[derive(Default)]
pub(super) struct PairingDesk {
    codes: Vec<LiveCode>,
    wrong: HashMap<(Arc<str>, Arc<str>), Vec<Duration>>,
}

/// A code that is out.
#[derive(Clone)]
struct LiveCode {
    code: String,
    channel: Option<Arc<str>>,
    /// By the clock on the wall.
    created_ms: i64,
    ttl_ms: i64,
    /// Since the start.
    good_until: Duration,
}

impl LiveCode {
    fn shown(self) -> CodeRow {
        CodeRow {
            code: self.code,
            channel: Nullable(self.channel),
            created_at: iso8601(self.created_ms),
            expires_at: iso8601(self.created_ms.saturating_add(self.ttl_ms)),
        }
    }
}

/// What a text of an unknown sender is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Redeemed {
    Good,
    Wrong,
    /// Nothing that could be a code, or one of somebody who has guessed too often.
    Nothing,
}

impl PairingDesk {
    /// `now`: since the start, and by the clock on the wall.
    fn generate(
        &mut self,
        code: String,
        channel: Option<Arc<str>>,
        (now, created_ms): (Duration, i64),
        ttl_ms: i64,
    ) -> Option<LiveCode> {
        self.expire(now);
        if self.codes.len() >= CODES_MAX {
            return None;
        }
        let good_until = now.saturating_add(Duration::from_millis(u64::try_from(ttl_ms).unwrap_or(0)));
        let code = LiveCode { code, channel, created_ms, ttl_ms, good_until };
        self.codes.push(code.clone());
        Some(code)
    }

    fn expire(&mut self, now: Duration) {
        self.codes.retain(|row| row.good_until > now);
    }

    fn revoke(&mut self, code: &str, now: Duration) -> bool {
        self.expire(now);
        let before = self.codes.len();
        self.codes.retain(|row| !same(&row.code, code));
        self.codes.len() < before
    }

    /// A good code is used up.
    fn redeem(&mut self, channel: &str, sender: &str, text: &str, now: Duration) -> Redeemed {
        self.expire(now);
        let text = text.trim();
        if !looks_like_code(text, &self.codes) {
            return Redeemed::Nothing;
        }
        let who = (Arc::<str>::from(channel), Arc::<str>::from(sender));
        let recent = |at: &Duration| now.saturating_sub(*at) < WRONG_FOR;
        let wrong = self.wrong.get(&who).map_or(0, |times| times.iter().filter(|at| recent(at)).count());
        if wrong >= WRONG_MAX {
            return Redeemed::Nothing;
        }
        // All of them are looked at, whichever it is.
        let mut found = None;
        for (at, row) in self.codes.iter().enumerate() {
            let is_here = row.channel.as_ref().is_none_or(|it| **it == *channel);
            if same(&row.code, text) && is_here {
                found = Some(at);
            }
        }
        match found {
            Some(at) => {
                self.codes.remove(at);
                self.wrong.remove(&who);
                Redeemed::Good
            }
            None => {
                self.remember_wrong(who, now);
                Redeemed::Wrong
            }
        }
    }

    fn remember_wrong(&mut self, who: (Arc<str>, Arc<str>), now: Duration) {
        let times = self.wrong.entry(who).or_default();
        times.retain(|at| now.saturating_sub(*at) < WRONG_FOR);
        times.push(now);
        if self.wrong.len() > GUESSERS_MAX {
            let last = |times: &Vec<Duration>| times.last().copied().unwrap_or_default();
            let oldest = self.wrong.iter().min_by_key(|(_, times)| last(times)).map(|(who, _)| who.clone());
            oldest.and_then(|who| self.wrong.remove(&who));
        }
    }
}

/// Of the letters and the length of a code that is out; without one that is out, of any length a code can have.
fn looks_like_code(text: &str, codes: &[LiveCode]) -> bool {
    let is_letter = |byte: u8| ALPHABET.contains(&byte.to_ascii_uppercase());
    let fits = if codes.is_empty() {
        (6..=16).contains(&text.len())
    } else {
        codes.iter().any(|row| row.code.len() == text.len())
    };
    fits && text.bytes().all(is_letter)
}

/// In constant time, whatever the case.
fn same(code: &str, text: &str) -> bool {
    let text = text.trim().to_ascii_uppercase();
    let differs = code.bytes().zip(text.bytes()).fold(0, |differs, (one, two)| differs | (one ^ two));
    code.len() == text.len() && differs == 0
}

fn new_code(length: usize) -> Option<String> {
    let mut bytes = vec![0; length];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).collect())
}

fn place(channel: &str, sender: &str) -> ShelfPlace {
    ShelfPlace { kind: PAIRING, owner: channel.into(), name: sender.into() }
}

pub(super) async fn carry_out(services: &SharedServices, call: PairingCall) -> Result<PairingAnswer, GatewayRefusal> {
    let rules = services.settings().pairing;
    if !rules.enabled {
        return Err(GatewayRefusal::invalid("feature_disabled", "pairing is switched off"));
    }
    let now = services.uptime();
    Ok(match call {
        PairingCall::Generate { channel } => {
            let code = new_code(rules.length).ok_or_else(|| incident("internal", "no randomness for a code"))?;
            let row = lock(&services.pairing)
                .generate(code, channel, (now, services.now_ms()), rules.ttl_ms)
                .ok_or_else(|| {
                    let message = format!("{CODES_MAX} codes are out; one of them has to be used, revoked or expire");
                    GatewayRefusal::new(Code::Busy, message).because("limit")
                })?;
            let CodeRow { code, expires_at, .. } = row.shown();
            PairingAnswer::Generated(GenerateResult { code, expires_at })
        }
        PairingCall::List => {
            let codes = {
                let mut pairing = lock(&services.pairing);
                pairing.expire(now);
                pairing.codes.clone()
            };
            let codes = codes.into_iter().rev().map(LiveCode::shown).collect();
            let approved = services.parts.shelf.list(PAIRING, None, APPROVED_SHOWN).await.map_err(refused)?;
            let row = |it: vocab::Shelved| ApprovedRow {
                channel: it.place.owner,
                sender_id: it.place.name,
                approved_at: iso8601(it.created_ms),
            };
            PairingAnswer::Listed(PairingListResult { codes, approved: approved.into_iter().map(row).collect() })
        }
        PairingCall::RevokeCode { code } => {
            let revoked = lock(&services.pairing).revoke(&code, now);
            PairingAnswer::Revoked(RevokeResult { revoked })
        }
        PairingCall::RevokeSender { channel, sender } => {
            let revoked = services.parts.shelf.remove(place(&channel, &sender)).await.map_err(refused)?;
            PairingAnswer::Revoked(RevokeResult { revoked })
        }
    })
}

pub(super) async fn redeem(services: &SharedServices, channel: &str, sender: &str, text: &str) -> Result<bool, Fault> {
    let now = services.uptime();
    if !services.settings().pairing.enabled
        || lock(&services.pairing).redeem(channel, sender, text, now) != Redeemed::Good
    {
        return Ok(false);
    }
    let payload = json!({ "approvedAt": services.now_ms() }).to_string().into_bytes();
    services.parts.shelf.put(place(channel, sender), payload.into(), None).await?;
    Ok(true)
}

pub(super) async fn is_approved(services: &SharedServices, channel: &str, sender: &str) -> Result<bool, Fault> {
    Ok(services.parts.shelf.get(place(channel, sender)).await?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(1);

    fn pairing(codes: &[(&str, Option<&str>)]) -> PairingDesk {
        let mut pairing = PairingDesk::default();
        for (code, channel) in codes {
            pairing.generate((*code).to_owned(), channel.map(Arc::from), (Duration::ZERO, 0), 300_000).unwrap();
        }
        pairing
    }

    #[test]
    fn a_code_is_good_once_on_its_channel_until_it_expires() {
        let mut pairing = pairing(&[("ABCDEFGH", Some("telegram")), ("HJKLMNPQ", None), ("ZZZZZZZZ", None)]);
        assert_eq!(pairing.redeem("slack", "u", "abcdefgh", SOON), Redeemed::Wrong, "another channel");
        assert_eq!(pairing.redeem("telegram", "u", " abcdefgh\n", SOON), Redeemed::Good);
        assert_eq!(pairing.redeem("telegram", "u", "abcdefgh", SOON), Redeemed::Wrong, "used");
        assert_eq!(pairing.redeem("telegram", "v", "HJKLMNPQ", SOON), Redeemed::Good, "any channel");
        assert_eq!(pairing.redeem("telegram", "v", "hello there", SOON), Redeemed::Nothing);
        assert!(pairing.revoke("zzzzzzzz", SOON) && !pairing.revoke("zzzzzzzz", SOON));
        let mut late = self::pairing(&[("ABCDEFGH", None)]);
        assert_eq!(late.redeem("t", "u", "ABCDEFGH", Duration::from_secs(300)), Redeemed::Wrong, "expired");
    }

    #[test]
    fn who_guesses_five_times_in_an_hour_is_not_heard_even_with_the_right_one() {
        let mut pairing = pairing(&[("ABCDEFGH", None)]);
        pairing.codes[0].good_until = Duration::MAX;
        for _ in 0..WRONG_MAX {
            assert_eq!(pairing.redeem("t", "u", "AAAAAAAA", SOON), Redeemed::Wrong);
        }
        assert_eq!(pairing.redeem("t", "u", "ABCDEFGH", SOON * 2), Redeemed::Nothing);
        assert_eq!(pairing.redeem("t", "u", "ABCDEFGH", SOON + WRONG_FOR), Redeemed::Good, "an hour later");
    }

    #[test]
    fn there_are_twenty_codes_at_most_and_no_two_are_alike() {
        let mut pairing = PairingDesk::default();
        for _ in 0..CODES_MAX {
            assert!(pairing.generate(new_code(8).unwrap(), None, (Duration::ZERO, 0), 10).is_some());
        }
        assert!(pairing.generate("X".into(), None, (Duration::from_millis(9), 0), 10).is_none());
        let codes: std::collections::BTreeSet<_> = pairing.codes.iter().map(|row| row.code.clone()).collect();
        assert_eq!(codes.len(), CODES_MAX);
        assert!(codes.iter().all(|code| code.len() == 8 && code.bytes().all(|byte| ALPHABET.contains(&byte))));
        assert!(
            pairing.generate("X".into(), None, (Duration::from_millis(10), 0), 10).is_some(),
            "the others have expired"
        );
    }

    #[test]
    fn guessers_are_remembered_up_to_a_bound() {
        let mut pairing = PairingDesk::default();
        for at in 0..GUESSERS_MAX as u64 + 5 {
            pairing.remember_wrong(("t".into(), at.to_string().into()), Duration::from_millis(at));
        }
        assert_eq!(pairing.wrong.len(), GUESSERS_MAX);
        assert!(!pairing.wrong.contains_key(&("t".into(), "0".into())));
    }
}
