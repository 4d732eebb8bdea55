//! Codes, and who they let in.

//! Codes for unknown senders: made, redeemed, spent, revoked.

use serde_json::json;

use crate::play::{Play, paused, settings};

#[test]
fn g11_a_code_lets_one_sender_in_and_the_approval_can_be_taken_back() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let made = play.result(at, "pairing.generate", json!({"channel": "telegram"})).await;
        let code = made["code"].as_str().unwrap().to_owned();
        assert_eq!(code.len(), 8, "40 bits");
        let list = play.result(at, "pairing.list", json!({})).await;
        assert_eq!((&list["codes"][0]["code"], &list["codes"][0]["channel"]), (&json!(code), &json!("telegram")));
        // Texts, as those of a session.
        let is_time = |at: &serde_json::Value| at.as_str().is_some_and(|at| at.len() >= 20 && at.ends_with('Z'));
        assert!(is_time(&made["expiresAt"]) && list["codes"][0]["expiresAt"] == made["expiresAt"], "{made} {list}");
        assert!(is_time(&list["codes"][0]["createdAt"]), "{list}");
        let redeem = |sender: &'static str| {
            let (service, text) = (play.service.clone(), code.to_lowercase());
            async move { service.redeem("telegram", sender, &text).await.unwrap() }
        };
        assert!(redeem("4711").await);
        assert!(!redeem("4712").await, "one use");
        assert!(play.service.is_approved("telegram", "4711").await.unwrap());
        let list = play.result(at, "pairing.list", json!({})).await;
        assert_eq!(list["codes"], json!([]));
        assert_eq!(
            (&list["approved"][0]["channel"], &list["approved"][0]["senderId"]),
            (&json!("telegram"), &json!("4711"))
        );
        assert!(is_time(&list["approved"][0]["approvedAt"]), "{list}");
        let who = json!({"channel": "telegram", "senderId": "4711"});
        assert_eq!(play.result(at, "pairing.revoke", who.clone()).await, json!({"revoked": true}));
        assert_eq!(play.result(at, "pairing.revoke", who).await, json!({"revoked": false}));
        assert!(!play.service.is_approved("telegram", "4711").await.unwrap());
    });
}

/// Somebody sets the clock on the wall: a code lives as long as it was made for, and no one else's time is longer or shorter.
#[test]
fn d8_g11_a_clock_that_is_set_ends_no_code_and_makes_none_last() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        let day = 86_400_000;
        let lists = async |play: &mut Play| {
            let list = play.result(at, "pairing.list", json!({})).await;
            list["codes"].as_array().unwrap().len()
        };
        for jump in [day, -day] {
            play.result(at, "pairing.generate", json!({})).await;
            play.clock.jump(jump);
            assert_eq!(lists(&mut play).await, 1, "{jump}");
            let uptime = play.result(at, "system.info", json!({})).await["uptime"].as_u64().unwrap();
            assert!(uptime < 3_600, "{jump}: {uptime}");
            tokio::time::sleep(std::time::Duration::from_secs(300)).await;
            assert_eq!(lists(&mut play).await, 0, "{jump}");
        }
    });
}

#[test]
fn g11_codes_are_for_operators_bounded_and_can_be_switched_off() {
    paused(async {
        let mut play = Play::new();
        let at = play.connect();
        for _ in 0..20 {
            play.result(at, "pairing.generate", json!({})).await;
        }
        assert_eq!(play.error(at, "pairing.generate", json!({})).await, (3, "limit".into()));
        for wrong in [json!({}), json!({"channel": "x"}), json!({"code": "A", "channel": "x"})] {
            assert_eq!(play.error(at, "pairing.revoke", wrong).await, (-2, "invalid_params".into()));
        }
        let chat = dialect_gateway::Scopes::READ.and(dialect_gateway::Scopes::CHAT);
        let guest = play.connect_as(dialect_gateway::AuthState::Known { scopes: chat });
        for method in ["pairing.generate", "pairing.list", "config.reload", "audit.query"] {
            assert_eq!(play.error(guest, method, json!({})).await, (-5, "scope".into()), "{method}");
        }
        let mut off = settings();
        off.pairing.enabled = false;
        play.service.settle(off);
        assert_eq!(play.error(at, "pairing.list", json!({})).await, (-2, "feature_disabled".into()));
    });
}
