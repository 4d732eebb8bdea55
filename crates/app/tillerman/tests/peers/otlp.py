"""A batch of spans, read with OpenTelemetry's own types. Prints `ok WHAT` for each check."""

import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

request = ExportTraceServiceRequest()
request.ParseFromString(open(sys.argv[1], "rb").read())


def check(what, holds):
    print(("ok " if holds else "failed ") + what, flush=True)


check("one resource", len(request.resource_spans) == 1)
resource = {it.key: it.value.string_value for it in request.resource_spans[0].resource.attributes}
check("the service's name", resource.get("service.name") == "a-service")
spans = request.resource_spans[0].scope_spans[0].spans
check("spans", len(spans) >= 1)
check("ids", all(len(span.trace_id) == 16 and len(span.span_id) == 8 for span in spans))
check("times", all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in spans))
names = {span.name for span in spans}
check("a model call", "chat mock/alpha" in names)
