// Notes that both of you keep: the model with the tool `note`, you with /note. Every turn begins with what was noted,
// and a widget shows it.
//
//     tillerman repl -e examples/extensions/notes.mjs
//
// Needs nothing but Node 18.

const notes = [];
const NOTES_MAX = 20;

function send(frame) {
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...frame }) + "\n");
}

function notify(method, params) {
  send({ method, params });
}

function add(text, session) {
  notes.push(text);
  if (notes.length > NOTES_MAX) notes.shift();
  notify("ui/setWidget", { session, key: "notes", lines: ["Notes:", ...notes.map((note) => `- ${note}`)] });
}

const handlers = {
  initialize: () => ({
    name: "notes",
    tools: [
      {
        name: "note",
        description: "Keeps a short note that you are reminded of at the start of every turn.",
        parameters: {
          type: "object",
          properties: { text: { type: "string", description: "One sentence." } },
          required: ["text"],
        },
      },
    ],
    commands: [{ name: "note", description: "note TEXT | clear: keeps a note for the model" }],
    hooks: ["before_turn"],
    events: ["session_start"],
  }),

  "tool/call": ({ session, input }) => {
    if (typeof input.text !== "string" || !input.text.trim()) {
      return { content: "text is missing", isError: true };
    }
    add(input.text.trim(), session);
    return { content: `Noted. There are ${notes.length} notes.` };
  },

  "command/run": ({ session, args }) => {
    const text = args.trim();
    if (text === "clear") {
      notes.length = 0;
      notify("ui/setWidget", { session, key: "notes" });
    } else if (text) {
      add(text, session);
    } else {
      throw new Error("/note TEXT, or /note clear");
    }
    return null;
  },

  "hook/before_turn": () => (notes.length ? { system: `Notes so far:\n- ${notes.join("\n- ")}` } : null),

  shutdown: () => null,
};

function handle(frame) {
  if (frame.method === "event" && frame.params.type === "session_start") {
    notify("ui/notify", { session: frame.params.session, message: "notes are kept; /note TEXT adds one" });
  }
  if (frame.id === undefined || !frame.method) return;
  try {
    const handler = handlers[frame.method];
    if (!handler) throw new Error(`no method ${frame.method}`);
    send({ id: frame.id, result: handler(frame.params ?? {}) ?? null });
  } catch (error) {
    send({ id: frame.id, error: { code: -32000, message: error.message } });
  }
  if (frame.method === "shutdown") process.stdin.destroy();
}

let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) if (line.trim()) handle(JSON.parse(line));
});
