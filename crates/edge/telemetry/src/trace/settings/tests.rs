//! Each variable, as it is meant and as it is got wrong.

use super::*;

fn of(vars: &[(&str, &str)]) -> (Option<TraceSettings>, Vec<String>) {
    read(&|name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
}

const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/");

fn good(vars: &[(&str, &str)]) -> TraceSettings {
    let (settings, notes) = of(&[&[BASE], vars].concat());
    assert_eq!(notes, Vec::<String>::new());
    settings.unwrap()
}

#[test]
fn without_an_endpoint_there_are_no_traces_and_no_words() {
    for vars in [&[][..], &[("OTEL_SERVICE_NAME", "x"), ("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]] {
        assert_eq!(of(vars), (None, Vec::new()));
    }
    assert_eq!(of(&[BASE, ("OTEL_SDK_DISABLED", "TRUE")]), (None, Vec::new()));
    assert_eq!(of(&[BASE, ("OTEL_TRACES_EXPORTER", "none")]), (None, Vec::new()));
}

#[test]
fn the_usual_is_what_every_sdk_does() {
    let usual = good(&[]);
    assert_eq!(usual.url, "http://127.0.0.1:4318/v1/traces");
    assert_eq!((usual.format, usual.queue, usual.batch), (TraceFormat::Protobuf, 2048, 512));
    assert_eq!((usual.delay.as_secs(), usual.timeout.as_secs()), (5, 10));
    assert_eq!(usual.resource, [("service.name".to_owned(), "tillerman".to_owned())]);
    assert!(!usual.content && usual.propagates);
    good(&[("OTEL_EXPORTER_OTLP_COMPRESSION", "none"), ("OTEL_SDK_DISABLED", "False")]);
    assert_eq!(good(&[("OTEL_BSP_MAX_QUEUE_SIZE", "7")]).batch, 7);
    assert!(good(&[("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "True")]).content);
    let own = good(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t.example/otlp")]);
    assert_eq!(own.url, "https://t.example/otlp", "an endpoint of traces alone stands as it is");
}

#[test]
fn what_is_for_traces_alone_wins() {
    let both = good(&[
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "1"),
        ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "7"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=b"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "Authorization=Bearer%20abc%3D, x-org = 1 "),
    ]);
    assert_eq!((both.format, both.timeout.as_millis()), (TraceFormat::Json, 7));
    let headers: Vec<_> = both.headers.iter().map(|(name, value)| (&**name, value.expose())).collect();
    assert_eq!(headers, [("authorization", "Bearer abc="), ("x-org", "1")]);
    assert_eq!(both.secrets().collect::<Vec<_>>(), ["Bearer abc=", "abc="]);
}

#[test]
fn the_resource_is_the_users() {
    let of_user = good(&[("OTEL_RESOURCE_ATTRIBUTES", "service.name=one,deployment.environment.name=a%2Cb")]);
    assert_eq!(of_user.resource[0], ("service.name".to_owned(), "one".to_owned()));
    assert_eq!(of_user.resource[1].1, "a,b");
    let named = good(&[("OTEL_RESOURCE_ATTRIBUTES", "service.name=one"), ("OTEL_SERVICE_NAME", "two")]);
    assert_eq!(named.resource, [("service.name".to_owned(), "two".to_owned())]);
}

#[test]
fn samplers_have_the_known_names() {
    let sampler = |name, arg| good(&[("OTEL_TRACES_SAMPLER", name), ("OTEL_TRACES_SAMPLER_ARG", arg)]).sampler;
    assert_eq!(sampler("always_off", ""), SamplerChoice { root: Sampler::Off, follows_parent: false });
    let quarter = SamplerChoice { root: Sampler::Ratio(0.25), follows_parent: true };
    assert_eq!(sampler("parentbased_traceidratio", "0.25"), quarter);
}

#[test]
fn what_is_wrong_is_said_and_shows_no_value() {
    let wrong = [
        (("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), false),
        (("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"), false),
        (("OTEL_TRACES_EXPORTER", "zipkin"), false),
        (("OTEL_EXPORTER_OTLP_HEADERS", "canary"), true),
        (("OTEL_EXPORTER_OTLP_HEADERS", "a=%zz-canary"), true),
        (("OTEL_RESOURCE_ATTRIBUTES", "canary"), true),
        (("OTEL_TRACES_SAMPLER", "sometimes"), true),
        (("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"), true),
        (("OTEL_BSP_MAX_QUEUE_SIZE", "0"), true),
        (("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2049"), true),
        (("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"), true),
        (("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "canary"), true),
        (("OTEL_EXPORTER_OTLP_CERTIFICATE", "/canary.pem"), true),
        (("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "/canary.pem"), true),
        (("OTEL_SDK_DISABLED", "canary"), true),
        (("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "canary"), true),
    ];
    for (wrong, sends) in wrong {
        let (settings, notes) = of(&[wrong, BASE]);
        assert_eq!(settings.is_some(), sends, "{wrong:?}");
        assert_eq!(notes.len(), 1, "{wrong:?}: {notes:?}");
        assert!(notes[0].starts_with("OTEL_") && !notes[0].contains("canary"), "{notes:?}");
    }
}

#[test]
fn the_process_may_be_part_of_a_trace() {
    let place = ("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    let part = good(&[place, ("TRACESTATE", "a=1")]);
    assert_eq!(
        part.above.as_ref().map(|(place, state)| (place.span, state.as_deref())),
        Some((0x00f0_67aa_0ba9_02b7, Some("a=1")))
    );
    assert_eq!(part.of_many().above, None);
    assert_eq!(good(&[place, ("OTEL_PROPAGATORS", "none")]).above, None);
}
