// A scripted model: an OpenAI Chat Completions server on loopback that does what the last prompt says.
// It knows nothing of any agent. The same words always get the same answer.
//
//   TEXT ...                  "Hello " "from mock."
//   SAY ...                   the rest of the line, one chunk per word
//   SLOW:N:MS                 N chunks "w0 " "w1 " ..., MS milliseconds apart
//   WORDS:N                   N chunks "w0 " "w1 " ..., as fast as the reader takes them
//   LONG:N                    one text of N characters
//   THINK ...                 reasoning "I think." before "Hello from mock."
//   TOOL:name:{json}          one call of that tool; the answer to its result is "Tool done."
//   TOOLS:[["name",{..}],..]  several calls in one message
//   E500 / E429:N key         that HTTP error, always / for the first N requests with this very line
//
// Anything else is answered like TEXT, except that a request to summarise gets a fixed summary.
// Run as a program it prints its base URL and serves until stdin ends.
import http from "node:http";
import { pathToFileURL } from "node:url";

export const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
export const SUMMARY = "## Goal\nA mock summary.";
const ERRORS = { 400: "Bad request", 401: "Bad key", 429: "Rate limit reached, please slow down", 500: "Internal server error", 503: "Overloaded" };
const DIRECTIVE = /^(TEXT|SAY|SLOW:|WORDS:|LONG:|THINK|TOOL:|TOOLS:|E\d{3})/;

/** What a message says, whichever of the two forms of `content` it has. */
export function textOf(message) {
  const content = message?.content;
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("\n");
}

function script(messages) {
  const last = messages.at(-1);
  if (last?.role === "tool") return "TOOLDONE";
  const text = textOf(messages.findLast((message) => message.role === "user"));
  const first = messages[0];
  const system = first?.role === "system" || first?.role === "developer" ? textOf(first) : "";
  if (/<conversation>/.test(text) || /^Summarise this conversation/.test(text) || /summari[sz]ation assistant/i.test(system)) return "SUMMARY";
  // Lines end at LF alone: the other separators of Unicode are text here as on the wires.
  return text.split("\n").findLast((line) => DIRECTIVE.test(line)) ?? "TEXT";
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Yields the `delta`s of an answer; the last one is followed by `finish`. */
async function* deltas(line, counter) {
  const [word, ...rest] = line.split(":");
  if (line === "TOOLDONE") yield { content: "Tool done." };
  else if (line === "SUMMARY") yield { content: SUMMARY };
  else if (word === "SLOW" || word === "WORDS") {
    const [count, pause] = rest.map(Number);
    for (let i = 0; i < count; i++) {
      if (pause && i > 0) await sleep(pause);
      yield { content: `w${i} ` };
    }
  } else if (word === "LONG") yield { content: "x".repeat(Number(rest[0])) };
  else if (line.startsWith("SAY ")) for (const said of line.slice(4).match(/\S+\s*/g)) yield { content: said };
  else if (word === "TOOL" || word === "TOOLS") {
    const calls = word === "TOOL" ? [[rest[0], JSON.parse(rest.slice(1).join(":"))]] : JSON.parse(rest.join(":"));
    for (const [index, [name, args]] of calls.entries()) {
      const text = JSON.stringify(args);
      const half = Math.ceil(text.length / 2);
      yield { tool_calls: [{ index, id: `call_${counter}_${index}`, type: "function", function: { name, arguments: "" } }] };
      yield { tool_calls: [{ index, function: { arguments: text.slice(0, half) } }] };
      yield { tool_calls: [{ index, function: { arguments: text.slice(half) } }] };
    }
  } else {
    if (line.startsWith("THINK")) yield { reasoning_content: "I think." };
    yield { content: "Hello " };
    yield { content: "from mock." };
  }
}

/** Serves until `close()`; `requests` are the bodies received so far, oldest first. */
export async function startMockModel() {
  const requests = [];
  const failures = new Map();
  let open = 0;

  async function answer(request, response) {
    let body = "";
    for await (const piece of request) body += piece;
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "application/json" });
      return response.end(JSON.stringify({ object: "list", data: ["mock-1", "mock-2", "mock-3"].map((id) => ({ id, object: "model" })) }));
    }
    const asked = JSON.parse(body);
    requests.push({ body: asked, headers: request.headers });
    const line = script(asked.messages);
    const error = /^E(\d{3})(?::(\d+))?/.exec(line);
    if (error) {
      const failed = failures.get(line) ?? 0;
      if (error[2] === undefined || failed < Number(error[2])) {
        failures.set(line, failed + 1);
        // `x-should-retry` keeps client libraries from retrying below the agent, so that counts are exact.
        response.writeHead(Number(error[1]), { "content-type": "application/json", "x-should-retry": "false" });
        return response.end(JSON.stringify({ error: { message: ERRORS[error[1]] ?? "Failed", type: "mock" } }));
      }
    }
    const head = { id: `chatcmpl-mock-${requests.length}`, object: "chat.completion.chunk", created: 0, model: asked.model };
    const plain = error ? "TEXT" : line;
    const calls = /^TOOLS?:/.test(plain);
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    const send = async (chunk) => {
      if (!response.write(`data: ${JSON.stringify(chunk)}\n\n`)) {
        await new Promise((resolve) => {
          const go = () => (response.off("drain", go), response.off("close", go), resolve());
          response.on("drain", go).on("close", go);
        });
      }
    };
    open++;
    try {
      for await (const delta of deltas(plain, requests.length)) {
        if (response.destroyed) return;
        await send({ ...head, choices: [{ index: 0, delta, finish_reason: null }] });
      }
      await send({ ...head, choices: [{ index: 0, delta: {}, finish_reason: calls ? "tool_calls" : "stop" }] });
      await send({ ...head, choices: [], usage: USAGE });
      response.end("data: [DONE]\n\n");
    } finally {
      open--;
    }
  }

  const server = http.createServer((request, response) => {
    answer(request, response).catch((why) => response.destroy(why));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${server.address().port}/v1`,
    requests,
    openStreams: () => open,
    close: () => (server.closeAllConnections(), new Promise((resolve) => server.close(resolve))),
  };
}

/** The `models.json` of an agent directory that reaches this server: two plain models and a reasoning one. */
export function modelsJson(baseUrl) {
  const model = { reasoning: false, input: ["text", "image"], contextWindow: 128000, maxTokens: 4096, cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } };
  return {
    providers: {
      mock: {
        baseUrl,
        api: "openai-completions",
        apiKey: "mock-key",
        compat: { supportsDeveloperRole: false, supportsReasoningEffort: false },
        models: [
          { id: "mock-1", name: "Mock One", ...model },
          { id: "mock-2", name: "Mock Two", ...model },
          { id: "mock-3", name: "Mock Thinker", ...model, reasoning: true },
        ],
      },
    },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const mock = await startMockModel();
  console.log(mock.baseUrl);
  process.stdin.resume().on("end", () => process.exit(0));
}
