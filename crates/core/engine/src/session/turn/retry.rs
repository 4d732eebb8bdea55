//! When to try a model call again, and after how long. Pure.

use vocab::{FaultKind, ModelFault, RetryPolicy};

#[derive(PartialEq, Eq, Debug)]
pub(crate) enum RetryPlan {
    Wait(u64),
    GiveUp(ModelFault),
}

/// `attempt` = retries already made. `salt` spreads many clients when the policy asks for it.
pub(crate) fn plan(policy: &RetryPolicy, fault: &ModelFault, attempt: u32, salt: &str) -> RetryPlan {
    if !fault.retryable || attempt >= policy.retries_max {
        return RetryPlan::GiveUp(fault.clone());
    }
    if let Some(asked_ms) = fault.retry_after_ms {
        if asked_ms > policy.server_wait_ms_max {
            let mut fault = fault.clone();
            fault.fault.message = format!(
                "{} (the server asks to wait {} s; the limit is {} s)",
                fault.fault.message,
                asked_ms.div_ceil(1000),
                policy.server_wait_ms_max / 1000
            );
            return RetryPlan::GiveUp(fault);
        }
        return RetryPlan::Wait(asked_ms);
    }
    let full = policy.base_ms.saturating_mul(1 << attempt.min(20)).min(policy.wait_ms_max);
    RetryPlan::Wait(if policy.jitter { spread(full, salt, attempt) } else { full })
}

/// What is refused once and for all.
const NOT_FOUND: u16 = 404;

/// Whether another model could answer what this one cannot: the trouble is with the model or its server, and not with what
/// was asked.
pub(crate) fn another_may_help(fault: &ModelFault) -> bool {
    match fault.fault.kind {
        FaultKind::Auth
        | FaultKind::RateLimited
        | FaultKind::Provider
        | FaultKind::Network
        | FaultKind::StreamCut
        | FaultKind::UnknownModel => true,
        // The server does not know the model.
        FaultKind::BadRequest => fault.fault.status == Some(NOT_FOUND),
        _ => false,
    }
}

/// A number in `0..=full` that depends on the turn and the attempt only, so that a replay waits the same.
fn spread(full: u64, salt: &str, attempt: u32) -> u64 {
    let seed = salt.bytes().fold(0xcbf2_9ce4_8422_2325 ^ u64::from(attempt), |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (seed >> 11) % (full + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vocab::FaultKind;

    fn fault(retry_after_ms: Option<u64>) -> ModelFault {
        ModelFault { retry_after_ms, ..ModelFault::new(FaultKind::RateLimited, "429 slow down") }
    }

    #[test]
    fn waits_double_until_the_tries_are_used_up() {
        let policy = RetryPolicy::default();
        let waits: Vec<RetryPlan> = (0..4).map(|attempt| plan(&policy, &fault(None), attempt, "t")).collect();
        assert_eq!(
            waits,
            [RetryPlan::Wait(500), RetryPlan::Wait(1000), RetryPlan::Wait(2000), RetryPlan::GiveUp(fault(None))]
        );
    }

    #[test]
    fn the_servers_wish_is_honoured_up_to_the_cap_and_then_named() {
        let policy = RetryPolicy::default();
        assert_eq!(plan(&policy, &fault(Some(7)), 0, "t"), RetryPlan::Wait(7));
        let RetryPlan::GiveUp(named) = plan(&policy, &fault(Some(200_000)), 0, "t") else { panic!("should give up") };
        assert_eq!(named.fault.message, "429 slow down (the server asks to wait 200 s; the limit is 120 s)");
    }

    #[test]
    fn another_model_is_asked_for_what_is_this_ones_trouble_only() {
        use FaultKind::*;
        for kind in [Auth, RateLimited, Provider, Network, StreamCut, UnknownModel] {
            assert!(another_may_help(&ModelFault::new(kind, "x")), "{kind:?}");
        }
        for kind in [ContextOverflow, Cancelled, Invalid, BadRequest, Internal, Store] {
            assert!(!another_may_help(&ModelFault::new(kind, "x")), "{kind:?}");
        }
        let mut unknown = ModelFault::new(BadRequest, "no such model");
        unknown.fault.status = Some(404);
        assert!(another_may_help(&unknown));
    }

    #[test]
    fn jitter_stays_within_the_wait_and_is_repeatable() {
        let policy = RetryPolicy { jitter: true, ..RetryPolicy::default() };
        for attempt in 0..3 {
            let RetryPlan::Wait(first) = plan(&policy, &fault(None), attempt, "abc") else { panic!() };
            assert!(first <= 500 << attempt);
            assert_eq!(plan(&policy, &fault(None), attempt, "abc"), RetryPlan::Wait(first));
        }
    }
}
