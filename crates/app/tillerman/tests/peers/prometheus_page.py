"""A page of metrics, read with Prometheus' own client. Prints `ok WHAT` for each check."""

import sys

from prometheus_client.parser import text_string_to_metric_families

families = list(text_string_to_metric_families(open(sys.argv[1], encoding="utf-8").read()))


def check(what, holds):
    print(("ok " if holds else "failed ") + what, flush=True)


names = [family.name for family in families]
check("families, each once", len(names) > 25 and len(names) == len(set(names)))
samples = [(it.name, tuple(sorted(it.labels.items()))) for family in families for it in family.samples]
check("samples, each once", len(samples) == len(set(samples)))
check("every family has a type and says what it is", all(f.type != "unknown" and f.documentation for f in families))
counters = [family for family in families if family.type == "counter"]
check("counters end in _total", all(s.name.endswith("_total") for f in counters for s in f.samples))
histograms = [family for family in families if family.type == "histogram"]


def whole(family):
    rows = {}
    for sample in family.samples:
        labels = tuple(sorted((k, v) for k, v in sample.labels.items() if k != "le"))
        rows.setdefault(labels, {"buckets": []})
        if sample.name.endswith("_bucket"):
            rows[labels]["buckets"].append((float(sample.labels["le"]), sample.value))
        elif sample.name.endswith("_count"):
            rows[labels]["count"] = sample.value
    return all(
        row["buckets"] == sorted(row["buckets"]) and row["buckets"][-1] == (float("inf"), row["count"])
        for row in rows.values()
    )


check("histograms add up", len(histograms) >= 5 and all(whole(family) for family in histograms))
