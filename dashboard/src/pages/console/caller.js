// A call by hand: every method that the gateway says it has, with what it takes.

import { h, redraw } from "../../lib/dom.js";
import { Fetched, busy } from "../../lib/fetching.js";
import { duration, pretty } from "../../lib/format.js";
import { rpc } from "../../lib/link.js";
import { Awaited } from "../../ui/awaited.js";
import { Badge, Button, Card, copyText, ErrorNote } from "../../ui/parts.js";
import { Small, Code } from "../../ui/small.js";

const methods = new Fetched(() => rpc("rpc.discover"));
const state = { method: "system.info", params: "{}", isBusy: false, fault: null, answer: undefined, tookMs: 0 };

function schemaOf(found, schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? found.components?.schemas?.[name] : schema;
}

// What a parameter takes, in a few words.
function kindOf(found, schema) {
  const it = schemaOf(found, schema) ?? {};
  if (it.enum) return it.enum.join(" | ");
  const kind = Array.isArray(it.type) ? it.type.join(" or ") : it.type ?? (it.oneOf || it.anyOf ? "one of several" : "any");
  return it.maxLength ? `${kind}, at most ${it.maxLength}` : it.maximum && it.maximum < 1e12 ? `${kind}, ${it.minimum ?? 0} to ${it.maximum}` : kind;
}

// What has to be there, as a start.
function template(method) {
  const start = {};
  for (const { name, required, schema } of method.params ?? []) if (required) start[name] = { array: [], boolean: false, integer: 0 }[schema?.type] ?? "";
  return pretty(start);
}

async function call() {
  state.fault = null;
  let params;
  try {
    params = JSON.parse(state.params.trim() || "{}");
  } catch (why) {
    state.fault = new Error(`The parameters are no JSON: ${why.message}`);
    return redraw();
  }
  const began = performance.now();
  state.answer = await busy(state, () => rpc(state.method, params)).catch(({ code, message, data }) => ({ error: { code, message, data } }));
  state.tookMs = performance.now() - began;
  redraw();
}

function Params({ found, method }) {
  if (!method.params?.length) return h("p.dim", "It takes no parameters.");
  return h("ul.params", method.params.map((param) => h("li", h("code", param.name), param.required ? Badge({ tone: "info" }, ["required"]) : null, h("span.dim", ` ${kindOf(found, param.schema)}. ${param.description ?? ""}`))));
}

export function Caller() {
  return Awaited(methods.want("methods"), (found) => h(Call, { found }));
}

function Call({ found }) {
  const method = found.methods.find((it) => it.name === state.method) ?? found.methods[0];
  const pick = (event) => {
    state.method = event.target.value;
    state.params = template(found.methods.find((it) => it.name === state.method));
    state.answer = undefined;
    redraw();
  };
  const answer = pretty(state.answer);
  const keys = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) call();
  };
  return h(
    Card,
    { title: "Call" },
    h("div.caller",
      h("label.field", h("span", "Method"), h("select", { value: state.method, onchange: pick }, found.methods.map((it) => h("option", { value: it.name, selected: it.name === state.method }, it.name)))),
      h("p", method.summary ?? method.description ?? ""),
      h(Params, { found, method }),
      h("label.field", h("span", "Parameters (JSON)"), h("textarea.caller-params", { rows: 5, spellcheck: "false", value: state.params, oninput: (event) => (state.params = event.target.value), onkeydown: keys })),
      h("div.toolbar", Button({ kind: "main", busy: state.isBusy, onclick: call }, ["Call"]), h("span.dim", "Ctrl+Enter")),
      h(ErrorNote, { why: state.fault }),
      state.answer === undefined
        ? null
        : h("div",
            h("div.toolbar", h("strong", state.answer?.error ? "Refused" : "Result"), h("span.dim", `in ${duration(state.tookMs)}`), Small("Copy", () => copyText(answer, "The answer"))),
            Code(answer),
          ),
    ),
  );
}
