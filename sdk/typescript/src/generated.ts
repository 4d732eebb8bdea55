// Made from the gateway's own types by `UPDATE_EXPECT=1 cargo test -p dialect-gateway --test it sdk`.
import { GatewayError } from "./errors.js";

/** A token. */
export interface LoginParams {
  token: string;
}

/** Who is there now. */
export interface LoginResult {
  authenticated: boolean;
  connectionId: string;
  scopes: string[];
  /** The token's or the user's. */
  name: string;
}

/** It was done. */
export interface SuccessResult {
  success: boolean;
}

/** What a lane does with a message that comes while it is busy. */
export type LaneModeWord = "collect" | "followup" | "steer" | "steer_backlog" | "interrupt";

/** Which message goes when there is no room. */
export type OverflowWord = "drop_old" | "drop_new";

/** Whether waiting messages become one turn. */
export type CoalesceWord = "auto" | "always" | "never";

/** The rules of a lane; what is left out stays as it is. */
export interface QueuePart {
  mode?: LaneModeWord;
  /** Messages that wait; the run is not counted. */
  cap?: number;
  overflow?: OverflowWord;
  debounceMs?: number;
  summarizeOverflow?: boolean;
  coalesce?: CoalesceWord;
}

/** A new session, or one that is there. */
export interface CreateParams {
  sessionId?: string;
  title?: string;
  modelTier?: string;
  queue?: QueuePart;
  /** An absolute path of a directory of this machine. */
  cwd?: string;
}

/** The session that this connection is attached to now. */
export interface CreateResult {
  sessionId: string;
  created: boolean;
}

/** Which session. */
export interface SessionParams {
  sessionId: string;
}

/** How long what would be asked is allowed: until a moment, or so many minutes from now. */
export interface ElevationPart {
  /** `false`: no more; then nothing else is needed. */
  active?: boolean;
  untilMs?: number;
  minutes?: number;
}

/** What is to be otherwise. */
export interface PatchParams {
  sessionId: string;
  title?: string;
  modelTier?: string;
  /** null: the session has no rules of its own any more. */
  queue?: QueuePart | null;
  /** null: no more. */
  elevation?: ElevationPart | null;
  notify?: boolean;
}

/** The rules of a lane. */
export interface QueuePolicy {
  mode: LaneModeWord;
  cap: number;
  overflow: OverflowWord;
  debounceMs: number;
  summarizeOverflow: boolean;
  coalesce: CoalesceWord;
}

/** While it is active nobody is asked. */
export interface Elevation {
  active: boolean;
  untilMs: number | null;
}

/** What holds for a session. */
export interface SessionConfig {
  modelTier: string;
  queue: QueuePolicy;
  elevation: Elevation;
}

/** What holds now. */
export interface PatchResult {
  sessionId: string;
  config: SessionConfig;
  title?: string;
}

/** Everything before the user message `atSeq`, or everything. */
export interface ForkParams {
  sessionId?: string;
  atSeq?: number;
}

/** Where a copy comes from. */
export interface ForkedFrom {
  sessionId: string;
  seq?: number;
}

/** The copy. */
export interface ForkResult {
  sessionId: string;
  forkedFrom: ForkedFrom;
}

/** A file that comes with a message: an image, or text. */
export interface AttachmentPart {
  mimeType: string;
  /** Base64. */
  data: string;
  filename?: string;
}

/** A message for the model, or a command where its first word is one. */
export interface SendParams {
  /** May be empty where there are attachments. */
  message: string;
  sessionId?: string;
  /** The same as `sessionId`. */
  session?: string;
  /** Usually []. */
  attachments?: AttachmentPart[];
  /** The same message with the same key is taken once, within a day. */
  idempotencyKey?: string;
  /** For the session, from now on. */
  modelTier?: string;
  /** After this it is cancelled. */
  timeoutMs?: number;
  traceparent?: string;
}

/** What was used. Prompt tokens that came out of a cache, or went into one, are counted apart. */
export interface UsageSum {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  costUsd?: number;
}

/** Why a run stopped. */
export type StopWord = "end_turn" | "max_tokens" | "max_iterations" | "refusal" | "interrupted" | "error" | "budget";

/** Several messages became one run. */
export interface Collected {
  runId: string;
  count: number;
  leader: boolean;
}

/** What came of a slash command. */
export interface CommandDone {
  name: string;
  ok: boolean;
  data: unknown;
}

/** All that the model said, its messages apart by an empty line. */
export interface SendResult {
  content: string;
  usage: UsageSum;
  sessionId: string;
  /** The same as `content`. */
  response: string;
  runId?: string;
  stopReason?: StopWord;
  model?: string;
  /** A repeat of a message that was answered before. */
  replayed?: boolean;
  /** It was handed to a run that was under way. */
  steered?: boolean;
  collected?: Collected;
  command?: CommandDone;
}

/** One request of this connection; else everything of a session; else the attached session and everything sent here. */
export interface CancelParams {
  sessionId?: string;
  requestId?: number;
}

/** What was stopped. */
export interface CancelResult {
  cancelled: boolean;
  active: boolean;
  queued: number;
}

/** Whose queue. */
export interface QueueParams {
  sessionId: string;
}

/** A message that waits. */
export interface QueuedItem {
  itemId: string;
  /** How it begins. */
  text: string;
  /** Since when, in milliseconds since 1970. */
  at?: number;
  /** Whose it is. */
  by?: string;
  /** Its place among those that wait, from 0. */
  position: number;
  /** How many images it has. */
  attachments: number;
}

/** What waits, in its order. */
export interface QueueResult {
  items: QueuedItem[];
}

/** Which message. */
export interface RemoveParams {
  sessionId: string;
  itemId: string;
}

/** `false`: it does not wait any more. */
export interface RemoveResult {
  removed: boolean;
}

/** A slash command. */
export interface SlashRow {
  name: string;
  args: string;
  summary: string;
}

/** What a message can begin with instead of being for the model. */
export interface CommandsResult {
  commands: SlashRow[];
}

/** Whether this connection is asked before tools of this session run. */
export interface CallbackParams {
  sessionId: string;
  enabled: boolean;
}

/** What a person says to a call. */
export type DecisionWord = "allow" | "allow_session" | "deny";

/** The answer to `tool_confirm`. */
export interface ConfirmParams {
  /** Models count their calls anew in each session: without it, a call of this name must be open in one alone. */
  sessionId?: string;
  callId: string;
  /** Where it is given, the answer counts for that question alone. */
  askId?: string;
  decision: DecisionWord;
  /** For the model, where it is a no. */
  reason?: string;
}

/** `false`: the question is not open any more. */
export interface ConfirmResult {
  accepted: boolean;
}

/** A run by its id or by the key of its message. */
export interface WaitParams {
  runId?: string;
  idempotencyKey?: string;
  sessionId?: string;
  /** Usually 30000. */
  timeoutMs?: number;
}

/** How a run stands. */
export type WaitState = "waiting" | "running" | "complete" | "error" | "cancelled";

/** Why a run failed. */
export interface WaitError {
  code: number;
  message: string;
  data?: unknown;
}

/** A run as it stands. */
export interface WaitResult {
  runId?: string;
  state: WaitState;
  content?: string;
  usage?: UsageSum;
  error?: WaitError;
}

/** Of a session, or as every session has them. */
export interface ToolsParams {
  sessionId?: string;
}

/** A tool. */
export interface ToolInfo {
  name: string;
  description: string;
  inputSchema: unknown;
}

/** The tools. */
export interface ToolsResult {
  tools: ToolInfo[];
}

/** A call by hand. */
export interface ExecuteParams {
  sessionId?: string;
  tool: string;
  args?: Record<string, unknown>;
  /** Usually 120000. */
  timeoutMs?: number;
}

/** What came of a call by hand. */
export interface ExecuteResult {
  success: boolean;
  output: string;
  error?: string;
  truncated?: boolean;
  fullBytes?: number;
}

/** How far a session was told: keep it and bring it back. A number stands for a whole entry of the log. */
export type EventCursor = number | string;

/** `session:<id>`, `sessions`, `asks`, `lanes`, `nodes`, `metrics`, `logs`. */
export interface SubscribeParams {
  topics: string[];
  /** Of the session that is named: what is stored after it comes first. */
  afterSeq?: EventCursor;
  /** With what the models think. Usually false. */
  thinking?: boolean;
}

/** Its events follow under the id of the request. */
export interface SubscribeResult {
  subscriptionId: number;
  seq: number;
  cursor: EventCursor;
}

/** Which one. */
export interface UnsubscribeParams {
  subscriptionId: number;
}

/** Whether there was one. */
export interface UnsubscribeResult {
  unsubscribed: boolean;
}

/** Stored events after a cursor, or the newest before a place. */
export interface ReplayParams {
  sessionId: string;
  afterSeq?: EventCursor;
  /** The newest entries before this one, oldest first; a number beyond the end means the newest there are. */
  beforeSeq?: number;
  /** Entries of the log; one makes at least one event. Usually 200. */
  limit?: number;
  /** With what the models thought. Usually false. */
  thinking?: boolean;
}

/** An event as it was stored. */
export interface ReplayedEvent {
  event: string;
  data: unknown;
  seq: number;
  cursor: EventCursor;
  sessionId: string;
  runId?: string;
  /** When it was stored, in milliseconds since 1970. */
  at: number;
}

/** A page. */
export interface ReplayResult {
  events: ReplayedEvent[];
  /** For the next page. */
  nextSeq: EventCursor;
  /** For the page before it, as `beforeSeq`; only where that was asked for. */
  prevSeq?: number;
  /** Nothing more is stored, in the direction that was asked for. */
  complete: boolean;
}

/** What this gateway is. */
export interface InfoResult {
  version: string;
  /** Whole seconds. */
  uptime: number;
  connections: number;
  protocol: number;
  connectionId: string;
  /** The session that is meant where none is named. */
  sessionId: string;
  name: string;
  pid: number;
  /** Another one after a restart. */
  instance: string;
  /** Memory in use. */
  rssBytes?: number;
  /** Of one processor, since it was last asked for: 150 is one and a half of them. */
  cpuPct?: number;
  /** The one that a new session has where nothing says otherwise. */
  model: string;
}

/** Of the wire. */
export interface ProtocolVersion {
  version: number;
}

/** Companions, and the one on this connection. */
export interface NodeGates {
  enabled: boolean;
  locationEnabled: boolean;
  pushEnabled: boolean;
  allowedRoles: string[];
  registered: boolean;
  role: string | null;
  nodeId: string | null;
}

/** What a connection must not exceed. */
export interface GatewayLimits {
  maxFrameBytes: number;
  maxMessageBytes: number;
  maxAttachments: number;
  /** Of one message, decoded, together. */
  maxAttachmentBytes: number;
  /** Requests without an answer. */
  maxInFlight: number;
  maxSubscriptions: number;
  /** Requests at once, and then so many a second. */
  burst: number;
  perSecond: number;
  maxArtifactBytes: number;
  maxArtifacts: number;
}

/** Everything that can be asked here. */
export interface CapabilitiesResult {
  protocol: ProtocolVersion;
  nodes: NodeGates;
  featureGates: Record<string, unknown>;
  methods: string[];
  events: string[];
  limits: GatewayLimits;
  /** What this connection may do: scopes of methods. */
  scopes: string[];
}

/** Whether somebody was heard of lately. */
export type Online = "online" | "offline";

/** Who wrote, newest first. */
export interface PresenceParams {
  channel?: string;
  status?: Online;
  /** Usually 50. */
  limit?: number;
}

/** Somebody who wrote. */
export interface PresenceRow {
  channel: string;
  senderId: string;
  senderName: string | null;
  firstSeenAt: number;
  lastSeenAt: number;
  messageCount: number;
  status: Online;
}

/** Of the channel, before status and limit. */
export interface PresenceSummary {
  total: number;
  online: number;
  offline: number;
}

/** Who wrote. */
export interface PresenceResult {
  presence: PresenceRow[];
  summary: PresenceSummary;
}

/** The last so many days of UTC, and how many of each list. */
export interface AnalyticsParams {
  /** Usually 30. */
  days?: number;
  /** Usually 10. */
  topLimit?: number;
}

/** Messages of people on a day, and the sessions they were for. */
export interface AnalyticsDay {
  day: string;
  sessions: number;
  messages: number;
}

/** `lastActivity`: seconds since 1970. */
export interface TopSession {
  sessionId: string;
  messages: number;
  lastActivity: number | null;
}

/** How often a tool was called. */
export interface TopTool {
  toolName: string;
  executions: number;
}

/** How many titles have this word. */
export interface TopTopic {
  topic: string;
  occurrences: number;
}

/** From sums that are kept; no history is read. Days on which nobody wrote are left out. */
export interface AnalyticsResult {
  daily: AnalyticsDay[];
  topSessions: TopSession[];
  topTools: TopTool[];
  topTopics: TopTopic[];
  /** Two decimals. */
  averageMessagesPerSession: number;
  totalSessions: number;
  totalMessages: number;
}

/** All that are in memory, or one. */
export interface ContextParams {
  sessionId?: string;
}

/** How full the context is. */
export interface Budget {
  estimatedTokens: number;
  contextWindow: number;
  remainingTokens: number;
  /** One decimal. */
  usagePct: number;
  thresholdPct: number;
  thresholdTokens: number;
  shouldCompact: boolean;
}

/** How full the context of a session is. */
export interface ContextRow {
  sessionId: string;
  budget: Budget;
  title?: string;
  model?: string;
}

/** A summary took the place of what was said before. */
export interface CompactionRow {
  at: number;
  seq: number;
  tokensBefore: number;
  tokensAfter: number;
}

/** Sessions that are in memory. `compactions`: where one is named and kept, its newest 50, in memory or not; newest first. */
export interface ContextResult {
  sessions: ContextRow[];
  compactions?: CompactionRow[];
}

/** One answer of a model. */
export interface RecentCall {
  ts: number;
  model: string;
  latencyMs: number;
  ok: boolean;
  inputTokens: number;
  outputTokens: number;
  sessionId: string;
  /** `ok`, `retried` or `failed`. */
  status: string;
}

/** Of the last 200. */
export interface ModelCalls {
  total: number;
  avgLatency: number;
  errorRate: number;
  recentCalls: RecentCall[];
}

/** Each counted once per run. */
export interface RunStates {
  start: number;
  complete: number;
  cancel_requested: number;
  cancelled: number;
  error: number;
}

/** From the word to the end, the last 100. */
export interface CancelLatency {
  sampleCount: number;
  samples: number[];
}

/** Rules that fired; there are none. */
export interface Reactions {
  matched: number;
  skipped: number;
  skipReasons: Record<string, unknown>;
}

/** Since the process began. */
export interface MetricsResult {
  messagesProcessed: number;
  errors: number;
  /** Runs that are under way. */
  activeRequests: number;
  uptime: number;
  modelCalls: ModelCalls;
  runStates: RunStates;
  cancelLatencyMs: CancelLatency;
  reactions: Reactions;
  /** Messages that wait, over all lanes. */
  queueDepth: number;
}

/** The last so many minutes, in steps of so many seconds: at most 300 of them. */
export interface LatencyParams {
  /** Usually 60. */
  windowMinutes?: number;
  /** Usually 60. */
  bucketSeconds?: number;
}

/** The calls that ended in one step, which began at `ts`. */
export interface LatencyBucket {
  ts: number;
  /** Calls that ended by themselves, well or not. */
  calls: number;
  errors: number;
  /** From the request to the end of the answer. */
  p50: number;
  p95: number;
  p99: number;
  /** From the request to the first word of the answer. */
  firstTokenP50?: number;
  firstTokenP95?: number;
  firstTokenP99?: number;
}

/** Milliseconds. The first word's are absent where none came. */
export interface LatencySum {
  /** Calls that ended by themselves, well or not. */
  calls: number;
  errors: number;
  /** From the request to the end of the answer. */
  p50: number;
  p95: number;
  p99: number;
  /** From the request to the first word of the answer. */
  firstTokenP50?: number;
  firstTokenP95?: number;
  firstTokenP99?: number;
}

/** The calls of one model. */
export interface ModelLatency {
  model: string;
  /** Calls that ended by themselves, well or not. */
  calls: number;
  errors: number;
  /** From the request to the end of the answer. */
  p50: number;
  p95: number;
  p99: number;
  /** From the request to the first word of the answer. */
  firstTokenP50?: number;
  firstTokenP95?: number;
  firstTokenP99?: number;
}

/** `status`: what the server answered, `429`; or a word where none did, `network`. */
export interface StatusCount {
  status: string;
  count: number;
}

/** From the word to the end of a run, the last 100 of the process. */
export interface CancelTimes {
  p50?: number;
  p95?: number;
  p99?: number;
  samples: number[];
}

/** Steps in which no call ended are left out. Nothing before `since` is known. */
export interface LatencyResult {
  generatedAt: number;
  since: number;
  windowMinutes: number;
  bucketSeconds: number;
  buckets: LatencyBucket[];
  total: LatencySum;
  /** Those with most calls first. */
  byModel: ModelLatency[];
  errorsByStatus: StatusCount[];
  cancel: CancelTimes;
}

/** By what somebody is known. */
export type CredentialKind = "token" | "cookie" | "user" | "tailscale" | "none";

/** A socket or a stream of events that is open. */
export interface ConnectionRow {
  connectionId: string;
  /** Of the token or the user. */
  name?: string;
  scopes: string[];
  /** The other end's address, or `unix:UID`. */
  peer: string;
  path: string;
  since: number;
  /** The one that asks. */
  isSelf: boolean;
  credential: CredentialKind;
}

/** The oldest first, at most 1,000; `total`: how many there are. */
export interface ConnectionsResult {
  connections: ConnectionRow[];
  total: number;
}

/** As `system.connections` names it. */
export interface CloseConnectionParams {
  connectionId: string;
}

/** `false`: there is no such connection any more. */
export interface CloseConnectionResult {
  closed: boolean;
}

/** At most so many. */
export interface AttemptsParams {
  /** Usually 50. */
  limit?: number;
}

/** Where a credential was shown: in a header, in a browser's cookie, where there should have been one and was something else, at `/api/login`, or in the middle of a conversation. */
export type AttemptKind = "token" | "cookie" | "unreadable" | "login" | "message";

/** Somebody showed a credential. What it was is not kept. */
export interface AttemptRow {
  at: number;
  peer: string;
  /** The page that it came from, as its browser says. */
  origin?: string;
  path: string;
  kind: AttemptKind;
  ok: boolean;
}

/** The newest first: all that failed, and browsers that logged in; the last 200 since the start. */
export interface AttemptsResult {
  attempts: AttemptRow[];
}

/** `enabled`: those of the declared ones that are granted here. */
export interface NodeCapabilities {
  declared: string[];
  enabled: string[];
}

/** Where a companion is. */
export interface NodeLocation {
  latitude: number;
  longitude: number;
  accuracyMeters?: number;
  source?: string;
  /** By its own clock. */
  capturedAt?: number;
  /** By ours; whatever the companion says of it is passed over. */
  receivedAt?: number;
}

/** What it runs on. */
export type PowerSource = "ac" | "battery" | "unknown";

/** How a companion does. Only what is given is changed. */
export interface NodeStatus {
  platform?: string;
  appVersion?: string;
  deviceName?: string;
  statusText?: string;
  batteryPct?: number;
  powerSource?: PowerSource;
  updatedAt?: number;
}

/** Whose push service. */
export type PushProvider = "apns" | "fcm";

/** The token itself is never told. */
export interface PushState {
  provider: PushProvider;
  tokenPreview: string;
  updatedAt: number;
}

/** A companion that is here. */
export interface NodeRow {
  connectionId: string;
  id: string;
  role: string;
  protocolVersion: number;
  capabilities: NodeCapabilities;
  location: NodeLocation | null;
  status: NodeStatus | null;
  push: PushState | null;
  registeredAt: number;
  lastSeenAt: number;
}

/** How many. */
export interface NodesSummary {
  total: number;
}

/** All that are here. */
export interface NodesResult {
  nodes: NodeRow[];
  summary: NodesSummary;
}

/** Which companion. */
export interface NodeName {
  id: string;
  role: string;
}

/** One that has said where it is. */
export interface LocatedNode {
  node: NodeName;
  location: NodeLocation;
}

/** Those that have said where they are. */
export interface LocationsResult {
  locations: LocatedNode[];
}

/** Those with the newest message first. */
export interface ListParams {
  /** Also those that nobody has touched since the process began. Usually false. */
  includePersisted?: boolean;
  /** What stands before the first colon of their ids; `ws` where there is none. */
  frontend?: string;
  /** Usually 50. */
  limit?: number;
  /** Usually 0. */
  offset?: number;
  /** Only those whose id or title has this, whatever the case of its letters. */
  query?: string;
  /** Those that work or worked for a call of this session, which are listed only so. */
  childOf?: string;
}

/** What a lane does. */
export type LaneState = "idle" | "running" | "waiting" | "asking";

/** What its lane does. */
export interface SessionLane {
  state: LaneState;
  depth: number;
  runId?: string;
}

/** The call that a session works or worked for, and whose it is. */
export interface SessionParent {
  sessionId: string;
  callId?: string;
}

/** A session. */
export interface SessionRow {
  id: string;
  frontend: string;
  userId: string;
  messageCount: number;
  lastMessageAt: number | null;
  config: SessionConfig;
  title?: string;
  lane: SessionLane;
  /** The directory that it works in. */
  cwd?: string;
  model?: string;
  createdAt?: number;
  /** What it has used, by the prices of the day; absent where one was not known. Sub-agents have sessions of their own. */
  costUsd?: number;
  parent?: SessionParent;
}

/** `total`: before limit and offset. */
export interface ListResult {
  sessions: SessionRow[];
  total: number;
}

/** A session and the newest messages of it. */
export interface GetParams {
  sessionId: string;
  /** Usually 500. */
  historyLimit?: number;
  /** Only messages before this entry of the log. */
  before?: number;
  /** With what tools gave. Usually false. */
  includeTools?: boolean;
}

/** Who said it. */
export type HistoryRole = "user" | "assistant" | "tool";

/** A message. */
export interface HistoryRow {
  role: HistoryRole;
  content: string;
  at: number;
  /** The entry of the log that it is. */
  seq: number;
  /** It was cut short. */
  interrupted?: boolean;
  tool?: string;
}

/** A session and what was said in it, oldest first. */
export interface GetResult {
  id: string;
  createdAt: string;
  lastActiveAt: string;
  history: HistoryRow[];
  frontend: string;
  userId: string;
  messageCount: number;
  /** There are older ones. */
  historyTruncated: boolean;
  config: SessionConfig;
  lane: SessionLane;
  title?: string;
}

/** A text in what people and models said, whatever the case of its letters. */
export interface SearchParams {
  /** Two characters or more, or one that is none of ASCII's: a word can be one sign. */
  query: string;
  /** Usually 20. */
  limit?: number;
  /** What the answer before gave, to go on behind it. */
  cursor?: string;
}

/** A message that has it. */
export interface SearchHit {
  sessionId: string;
  title?: string;
  /** The entry of the log that it is. */
  seq: number;
  at: number;
  role: HistoryRole;
  /** What stands around the first place, in one line. */
  snippet: string;
}

/** Sessions with the newest message first, of each the newest first. What was undone is found, too. */
export interface SearchResult {
  hits: SearchHit[];
  /** Where to go on; there may be no hit on the way. */
  cursor?: string;
  /** There is nothing more to look through. */
  complete: boolean;
}

/** Of one session, or of all. */
export interface AsksParams {
  sessionId?: string;
}

/** One thing about the call. */
export interface ConfirmFact {
  label: string;
  text: string;
}

/** An open question. Answered by `agent.confirmTool`, from any connection. */
export interface AskRow {
  sessionId: string;
  /** The session's. */
  title?: string;
  /** Where the session works. */
  cwd?: string;
  /** For whom the run works. */
  askedBy?: string;
  openedAt: number;
  /** Its entry in the log. */
  seq?: number;
  callId: string;
  tool: string;
  args: unknown;
  /** What the call needs: `read-only`, `workspace-write` or `danger-full-access`. */
  risk: string;
  /** After this it is a no. Not there where nobody is on the session: then it is kept longer. */
  expiresAt?: number;
  /** One line. */
  summary: string;
  /** All that a person has to see, where the tool says it. */
  preview?: ConfirmFact[];
  /** The question's own id: models count their calls anew, so a call's does not tell two questions apart. */
  askId: string;
  /** Where it is true: the call was begun before a restart, and a yes may run it a second time. */
  mayHaveRun?: boolean;
}

/** Open questions, oldest first. */
export interface AsksResult {
  asks: AskRow[];
}

/** At most so many; those that work come first. */
export interface LanesParams {
  /** Usually 200. */
  limit?: number;
}

/** A lane that is in memory. Times are milliseconds since 1970. */
export interface LaneRow {
  sessionId: string;
  state: LaneState;
  /** Messages that wait. */
  depth: number;
  runId?: string;
  /** When the run began. */
  since?: number;
  /** When something last came of it. */
  movedAt: number;
  /** After so long without anything more it is ended. */
  stallInMs?: number;
  mode: LaneModeWord;
  /** How long the oldest message has waited. */
  oldestWaitMs?: number;
  title?: string;
  model?: string;
  /** The tool in hand. */
  tool?: string;
  /** The directory it works in. */
  cwd?: string;
  /** Connections that are on it. */
  peers: number;
}

/** Lanes that are in memory. */
export interface LanesResult {
  lanes: LaneRow[];
  total: number;
}

/** Runs of the last so many minutes, and at most so many of them. */
export interface LaneHistoryParams {
  /** Usually 60. */
  windowMinutes?: number;
  /** Usually 500. */
  limit?: number;
}

/** What became of a run. */
export type RunOutcome = "running" | "complete" | "cancelled" | "error";

/** One run. Times are milliseconds since 1970. */
export interface LaneRun {
  sessionId: string;
  title?: string;
  runId: string;
  /** Since when the message waited that it began with; absent where none did. */
  queuedAt?: number;
  startedAt: number;
  /** Absent while it runs. */
  endedAt?: number;
  state: RunOutcome;
  /** How many calls of tools it began. */
  tools: number;
}

/** Runs that were under way in the window, the newest first. Nothing before `since` is known. */
export interface LaneHistoryResult {
  since: number;
  runs: LaneRun[];
}

/** Puts an artifact there whole, in the place of one with the same id. */
export interface CanvasPutParams {
  sessionId?: string;
  artifactId: string;
  type: string;
  title?: string;
  content: unknown;
  metadata?: Record<string, unknown>;
}

/** An artifact. Times are milliseconds since 1970. */
export interface Artifact {
  artifactId: string;
  sessionId: string;
  type: string;
  title: string | null;
  /** Left out where it was not asked for, or where the list had no more room. */
  content?: unknown;
  /** The list had no more room for its content and its metadata; `canvas.get` gives both. */
  contentOmitted?: boolean;
  metadata: unknown | null;
  createdAt: number;
  updatedAt: number;
  /** 1 at first, and one more with each change. */
  version: number;
}

/** The artifact as it is on the disk. */
export interface CanvasPutResult {
  artifact: Artifact;
  created: boolean;
}

/** Which artifact. */
export interface CanvasOneParams {
  sessionId?: string;
  artifactId: string;
}

/** The artifact. */
export interface CanvasGetResult {
  artifact: Artifact;
}

/** Newest first. */
export interface CanvasListParams {
  sessionId?: string;
  /** Usually 200. */
  limit?: number;
  /** Usually true. */
  includeContent?: boolean;
}

/** `total`: before the limit. */
export interface CanvasListResult {
  artifacts: Artifact[];
  total: number;
}

/** Whether it was there. */
export interface CanvasDeleteResult {
  deleted: boolean;
}

/** Of which session. */
export interface CanvasAllParams {
  sessionId?: string;
}

/** How many there were. */
export interface CanvasClearResult {
  cleared: number;
}

/** Of which session. */
export interface MemoryGetParams {
  sessionId?: string;
}

/** A checkpoint of a session. Times are milliseconds since 1970. */
export interface MemoryEntry {
  namespace: string;
  sessionId: string;
  /** The run behind which it was written. */
  runId: string;
  /** The newest entry that it knows of. */
  seq: number;
  /** Markdown. Left out of lists. */
  text?: string;
  createdAt: number;
  updatedAt: number;
  /** 1 at first, and one more with each that took its place. */
  version: number;
}

/** The newest checkpoint of the session. */
export interface MemoryGetResult {
  entry: MemoryEntry | null;
}

/** Newest first. */
export interface MemoryListParams {
  /** Usually 50. */
  limit?: number;
}

/** One for each session that has one. */
export interface MemoryListResult {
  entries: MemoryEntry[];
}

/** Who registers. */
export interface RegisterParams {
  nodeId: string;
  role: string;
  protocolVersion: number;
  capabilities: string[];
}

/** The lower one of both counts. */
export interface NodeProtocol {
  serverVersion: number;
  clientVersion: number;
  negotiatedVersion: number;
}

/** It is registered on this connection. */
export interface RegisterResult {
  registered: boolean;
  node: NodeName;
  protocol: NodeProtocol;
  capabilities: NodeCapabilities;
}

/** As it was agreed. */
export interface NodeCapabilitiesResult {
  node: NodeName;
  protocol: NodeProtocol;
  capabilities: NodeCapabilities;
}

/** What is known now. */
export interface SetLocationResult {
  updated: boolean;
  node: NodeName;
  location: NodeLocation;
}

/** null: it has not said. */
export interface LocationResult {
  node: NodeName;
  location: NodeLocation | null;
}

/** What is known now. */
export interface SetStatusResult {
  updated: boolean;
  node: NodeName;
  status: NodeStatus;
}

/** By which the companion can be woken. */
export interface PushTokenParams {
  provider: PushProvider;
  token: string;
}

/** What is kept. */
export interface SetPushResult {
  updated: boolean;
  node: NodeName;
  push: PushState;
}

/** `server.queue`: only what is below it. */
export interface ConfigParams {
  path?: string;
}

/** `null` takes the setting out of the file. `dryRun`: only says what would change. */
export interface ConfigSetParams {
  path: string;
  value: unknown;
  /** Usually false. */
  dryRun?: boolean;
}

/** One setting that is otherwise; `null`: it is not set. Secrets are `***`. */
export interface ConfigChange {
  path: string;
  from: unknown | null;
  to: unknown | null;
  restartRequired: boolean;
}

/** `shadowedBy`: what is laid over the file there, so that the change does not hold. */
export interface ConfigSetResult {
  success: boolean;
  changes: ConfigChange[];
  shadowedBy?: string;
}

/** `dryRun`: only says what would change. */
export interface ReloadParams {
  /** Usually false. */
  dryRun?: boolean;
}

/** Names of settings that are otherwise now; `changes` says how. */
export interface ReloadResult {
  success: boolean;
  changed: string[];
  /** Those that are otherwise than the process runs with, and hold after a new start: also of readings before this one. */
  restartRequired: string[];
  changes: ConfigChange[];
}

/** Without a channel it is good on any. */
export interface GenerateParams {
  channel?: string;
}

/** For the sender to write. Times of codes are ISO 8601, as those of a session. */
export interface GenerateResult {
  code: string;
  expiresAt: string;
}

/** A code that is still good. */
export interface CodeRow {
  code: string;
  channel: string | null;
  createdAt: string;
  expiresAt: string;
}

/** A sender that was let in. */
export interface ApprovedRow {
  channel: string;
  senderId: string;
  approvedAt: string;
}

/** Newest first. */
export interface PairingListResult {
  codes: CodeRow[];
  approved: ApprovedRow[];
}

/** A code, or a sender of a channel. */
export interface RevokeParams {
  code?: string;
  channel?: string;
  senderId?: string;
}

/** Whether there was one. */
export interface RevokeResult {
  revoked: boolean;
}

/** By what usage is added up. */
export type GroupBy = "day" | "session" | "model" | "tool" | "principal";

/** Days of UTC as `2026-01-31`, both included; without them, the last 30. */
export interface UsageParams {
  from?: string;
  to?: string;
  /** Usually "day". */
  groupBy?: GroupBy;
  sessionId?: string;
}

/** One sum. */
export interface UsageRow {
  /** The day, the session, the model, the tool or the principal. */
  key: string;
  /** Answers of models, or calls of the tool. */
  calls: number;
  failed?: number;
  usage: UsageSum;
  /** Tokens whose price is not known; the cost does not have them. */
  unpriced: number;
}

/** Days in their order, everything else with the largest first. A day without a row was not used, unless it is before `since`. */
export interface UsageResult {
  rows: UsageRow[];
  from: string;
  to: string;
  /** The first day of which sums are kept at all; of days before it nothing is known. Absent where nothing was used yet. */
  since?: string;
}

/** Days of UTC as `2026-01-31`, both included; without them, the last 30. */
export interface UsageRunsParams {
  from?: string;
  to?: string;
  sessionId?: string;
  /** Only what this model has answered counts, and only runs in which it has. */
  model?: string;
  /** Usually 50. */
  limit?: number;
}

/** A run goes `start`, then perhaps `cancel_requested`, then one of the other three. */
export type RunStateWord = "start" | "cancel_requested" | "complete" | "cancelled" | "error";

/** One run, and what was used in it on these days. What its sub-agents used is in their own runs. */
export interface UsageRun {
  sessionId: string;
  title?: string;
  runId: string;
  /** The entry of the log that it begins with. */
  seq: number;
  /** When it began. */
  at: number;
  /** Absent while it is under way. */
  durationMs?: number;
  /** The model that answered last. */
  model?: string;
  /** `costUsd` by the prices of now; absent where one is not known. */
  usage: UsageSum;
  /** `start` while it is under way. */
  state: RunStateWord;
  /** Whose message it worked for. */
  by?: string;
  /** Calls of tools that the model wanted. */
  tools?: number;
}

/** The dearest first, then the largest. `truncated`: there are more, or not all logs were looked through. */
export interface UsageRunsResult {
  runs: UsageRun[];
  truncated: boolean;
}

/** Newest first. */
export interface AuditParams {
  sessionId?: string;
  by?: string;
  /** Only lines before this one. */
  before?: number;
  /** Usually 100. */
  limit?: number;
  /** Whether the audit is as it was written; reads all of it. Usually false. */
  verify?: boolean;
}

/** A newer message took the place of a run. */
export interface PreemptData {
  laneId: string;
  preemptedRunId: string;
  /** The message, by its `itemId`. Absent in lines of older versions. */
  byRequest?: string;
  ts: number;
}

/** One thing that somebody did. */
export interface AuditRow {
  number: number;
  at: number;
  by: string;
  sessionId: string;
  seq?: number;
  action: string;
  detail?: string;
  /** Of `queue.preempt`. */
  data?: PreemptData;
}

/** `head` stands for all lines, `whole` says whether none was changed; both only where it was asked. */
export interface AuditResult {
  lines: AuditRow[];
  head?: string;
  whole?: boolean;
  broken?: string;
}

/** Concatenation of all that are not transient is the run's content. */
export interface ContentData {
  text: string;
  /** Not a part of the answer. */
  transient?: boolean;
  /** For subscribers: the rest of a message, which is whole with it. */
  final?: boolean;
}

/** A call. */
export interface ToolStartData {
  tool: string;
  args: unknown;
  callId: string;
}

/** What came of a call. */
export interface ToolOutcome {
  success: boolean;
  output: string;
  error: string | null;
}

/** The end of a call. */
export interface ToolEndData {
  tool: string;
  callId: string;
  result: ToolOutcome;
  durationMs: number;
  /** The output is longer than an event carries. */
  truncated?: boolean;
  fullBytes?: number;
}

/** As `content`, of the model's thinking. */
export interface ThinkingData {
  text: string;
  /** The rest of it, which is whole with it. */
  final?: boolean;
}

/** Base64. */
export interface AttachmentData {
  mimeType: string;
  data: string;
  filename?: string;
}

/** How full the context is. */
export type ContextLevel = "warning" | "checkpoint" | "compact";

/** What was done about it. */
export interface ContextActions {
  checkpointSaved: boolean;
  autoCompacted: boolean;
  /** Where it was saved. */
  checkpointNamespace?: string;
}

/** At most one per run. */
export interface ContextWarningData {
  level: ContextLevel;
  message: string;
  budget: Budget;
  actions: ContextActions;
}

/** When, in milliseconds since 1970. */
export interface RunStateData {
  state: RunStateWord;
  timestamp: number;
}

/** Only where the run is complete. Subscribers have had the content. */
export interface DoneData {
  content?: string;
  usage: UsageSum;
  runId?: string;
  /** For subscribers: which model spoke last, and how long the run took. */
  model?: string;
  durationMs?: number;
}

/** Why a lane did not take or keep a message. */
export type QueueCode = "overflow" | "superseded";

/** A message that a lane did not take or keep. */
export interface QueueNote {
  code: QueueCode;
  laneId: string;
  mode: LaneModeWord;
  overflow: OverflowWord;
  /** In this lane since it was last idle, this one and those that went together with it included. */
  droppedCount: number;
  /** How what was dropped began, where the rules say so. */
  summary?: string[];
}

/** The same code as the error frame behind it. */
export interface ErrorData {
  code: number;
  message: string;
  queue?: QueueNote;
  data?: unknown;
}

/** Answered by `agent.confirmTool`. */
export interface ToolConfirmData {
  callId: string;
  tool: string;
  args: unknown;
  /** What the call needs: `read-only`, `workspace-write` or `danger-full-access`. */
  risk: string;
  /** After this it is a no. Not there where nobody is on the session: then it is kept longer. */
  expiresAt?: number;
  /** One line. */
  summary: string;
  /** All that a person has to see, where the tool says it. */
  preview?: ConfirmFact[];
  /** The question's own id: models count their calls anew, so a call's does not tell two questions apart. */
  askId: string;
  /** Where it is true: the call was begun before a restart, and a yes may run it a second time. */
  mayHaveRun?: boolean;
}

/** How a question ended. */
export type AskEndWord = "allow" | "allow_session" | "deny" | "answered" | "withdrawn";

/** Whoever answered it. */
export interface ToolConfirmDoneData {
  callId: string;
  decision: AskEndWord;
  by?: string;
  askId: string;
}

/** Its place among those that wait, from 0. */
export interface QueuedData {
  itemId: string;
  position?: number;
  /** How the message begins. */
  text?: string;
  /** Whose it is. */
  by?: string;
}

/** What an entry of the log is that has no event of its own. */
export type ChangeKind = "opened" | "message" | "taken" | "settled" | "setting" | "shell" | "shell_done" | "call" | "call_done" | "ask" | "ask_done" | "requested" | "retrying" | "fell_back" | "spent" | "compacted" | "moved" | "restored" | "summary" | "note";

/** `kind` says what. */
export interface SessionChangedData {
  kind: ChangeKind;
  role?: string;
  text?: string;
  detail?: unknown;
}

/** Entries of the log that are not told. */
export interface LagData {
  /** The first of them that was not told whole. */
  from: number;
  /** The newest that is known here; before `from` where none is known to be missing. */
  to: number;
  /** Everything up to here was told, with what there was of a reply. */
  cursor: string;
}

/** The reply that this text was of came to nothing. */
export interface RetractData {
  runId?: string;
  bytes: number;
  /** Of thinking, for who is told it. */
  thinkingBytes?: number;
}

/** The session and the call that a sub-agent works for. */
export interface SubagentOf {
  sessionId: string;
  callId: string;
}

/** `live`: it is in memory. */
export interface SessionNews {
  sessionId: string;
  live: boolean;
  /** Only where it is true: it is gone for good, and no list has it any more. */
  deleted?: boolean;
  title?: string;
  lastSeq?: number;
  /** It is a sub-agent: for whose call it works. */
  parent?: SubagentOf;
}

/** A question has ended, whoever answered it. */
export interface AskDoneData {
  sessionId: string;
  askId: string;
  callId: string;
  decision: AskEndWord;
  /** Who answered. */
  by?: string;
}

/** What happened to a companion. */
export type NodeChange = "registered" | "changed" | "gone";

/** What happened to a companion. */
export interface NodeNews {
  change: NodeChange;
  node: NodeName;
  at: number;
}

/** A line of the log, without secrets. */
export interface LogLine {
  ts: number;
  level: string;
  text: string;
}

/** Where an event of a session stands: what a subscriber's frames have beside `event` and `data`. */
export interface EventPlaceData {
  seq: number;
  cursor: EventCursor;
  sessionId: string;
  runId?: string;
  /** When it was stored, in milliseconds since 1970; not there for what is not stored yet. */
  at?: number;
}

/** What each method takes and gives. */
export interface Methods {
  /** Says who is there, by a token. */
  "auth.login": { params: LoginParams; result: LoginResult };
  /** Ends the connection; what runs goes on. */
  "system.disconnect": { params: Record<string, never>; result: SuccessResult };
  /** Makes a session, or takes one that is there, and attaches this connection to it. */
  "sessions.create": { params: CreateParams; result: CreateResult };
  /** Removes a session and all that belongs to it. */
  "sessions.delete": { params: SessionParams; result: SuccessResult };
  /** Changes what holds for a session. */
  "sessions.patch": { params: PatchParams; result: PatchResult };
  /** Copies a session, whole or up to a message. */
  "sessions.fork": { params: ForkParams; result: ForkResult };
  /** A message for the model; its events come before the result. */
  "agent.send": { params: SendParams; result: SendResult };
  /** Stops what runs or waits. */
  "agent.cancel": { params: CancelParams; result: CancelResult };
  /** What waits in a session. */
  "queue.list": { params: QueueParams; result: QueueResult };
  /** Takes back a message that waits. */
  "queue.remove": { params: RemoveParams; result: RemoveResult };
  /** The slash commands. */
  "commands.list": { params: Record<string, never>; result: CommandsResult };
  /** Whether this connection is asked before tools run. */
  "agent.setToolUseCallback": { params: CallbackParams; result: SuccessResult };
  /** Answers `tool_confirm`. */
  "agent.confirmTool": { params: ConfirmParams; result: ConfirmResult };
  /** Waits for the end of a run. */
  "agent.wait": { params: WaitParams; result: WaitResult };
  /** Which tools there are. */
  "tools.list": { params: ToolsParams; result: ToolsResult };
  /** Runs a tool by hand, beside the lane. */
  "tools.execute": { params: ExecuteParams; result: ExecuteResult };
  /** Events of sessions and services, under the id of this request, behind its result. */
  "events.subscribe": { params: SubscribeParams; result: SubscribeResult };
  /** Ends a subscription. */
  "events.unsubscribe": { params: UnsubscribeParams; result: UnsubscribeResult };
  /** Stored events of a session, a page at a time. */
  "events.replay": { params: ReplayParams; result: ReplayResult };
  /** What this gateway is. */
  "system.info": { params: Record<string, never>; result: InfoResult };
  /** What can be asked here. */
  "system.capabilities": { params: Record<string, never>; result: CapabilitiesResult };
  /** Who wrote, and when. */
  "system.presence": { params: PresenceParams; result: PresenceResult };
  /** Who wrote how much, day by day. */
  "system.sessionAnalytics": { params: AnalyticsParams; result: AnalyticsResult };
  /** How full contexts are. */
  "system.contextUsage": { params: ContextParams; result: ContextResult };
  /** Counters since the start. */
  "system.metrics": { params: Record<string, never>; result: MetricsResult };
  /** How long models take. */
  "system.latency": { params: LatencyParams; result: LatencyResult };
  /** Who is connected. */
  "system.connections": { params: Record<string, never>; result: ConnectionsResult };
  /** Ends a connection; what runs goes on. */
  "system.closeConnection": { params: CloseConnectionParams; result: CloseConnectionResult };
  /** Who showed a wrong credential, and which browsers logged in. */
  "auth.attempts": { params: AttemptsParams; result: AttemptsResult };
  /** Companions that are here. */
  "system.nodes": { params: Record<string, never>; result: NodesResult };
  /** Where companions are. */
  "system.location": { params: Record<string, never>; result: LocationsResult };
  /** Sessions, the newest message first. */
  "sessions.list": { params: ListParams; result: ListResult };
  /** A session and its newest messages. */
  "sessions.get": { params: GetParams; result: GetResult };
  /** Messages that have a text, of the newest sessions first. */
  "sessions.search": { params: SearchParams; result: SearchResult };
  /** Open questions of all sessions, oldest first. */
  "asks.list": { params: AsksParams; result: AsksResult };
  /** What every lane does. */
  "lanes.list": { params: LanesParams; result: LanesResult };
  /** Runs that were, and those that are. */
  "lanes.history": { params: LaneHistoryParams; result: LaneHistoryResult };
  /** Puts an artifact there whole. */
  "canvas.put": { params: CanvasPutParams; result: CanvasPutResult };
  /** One artifact. */
  "canvas.get": { params: CanvasOneParams; result: CanvasGetResult };
  /** Artifacts, newest first. */
  "canvas.list": { params: CanvasListParams; result: CanvasListResult };
  /** Takes an artifact away. */
  "canvas.delete": { params: CanvasOneParams; result: CanvasDeleteResult };
  /** Takes all artifacts of a session away. */
  "canvas.clear": { params: CanvasAllParams; result: CanvasClearResult };
  /** The checkpoint of a session. */
  "memory.get": { params: MemoryGetParams; result: MemoryGetResult };
  /** Checkpoints of all sessions, newest first. */
  "memory.list": { params: MemoryListParams; result: MemoryListResult };
  /** A companion is here. */
  "node.register": { params: RegisterParams; result: RegisterResult };
  /** What was agreed. */
  "node.capabilities.get": { params: Record<string, never>; result: NodeCapabilitiesResult };
  /** Where the companion is. */
  "node.location.set": { params: NodeLocation; result: SetLocationResult };
  /** Where it said it is. */
  "node.location.get": { params: Record<string, never>; result: LocationResult };
  /** How the companion does. */
  "node.status.set": { params: NodeStatus; result: SetStatusResult };
  /** How it can be woken. */
  "node.push_token.set": { params: PushTokenParams; result: SetPushResult };
  /** Settings in effect, without secrets. */
  "config.get": { params: ConfigParams; result: unknown };
  /** What can be set, as a JSON Schema. */
  "config.schema": { params: Record<string, never>; result: unknown };
  /** Writes a setting into the user's file and takes it over. */
  "config.set": { params: ConfigSetParams; result: ConfigSetResult };
  /** Reads the settings again. */
  "config.reload": { params: ReloadParams; result: ReloadResult };
  /** A code for an unknown sender. */
  "pairing.generate": { params: GenerateParams; result: GenerateResult };
  /** Codes, and who was let in. */
  "pairing.list": { params: Record<string, never>; result: PairingListResult };
  /** Takes a code or a sender back. */
  "pairing.revoke": { params: RevokeParams; result: RevokeResult };
  /** What was used. */
  "usage.report": { params: UsageParams; result: UsageResult };
  /** The runs behind a sum, the dearest first. */
  "usage.runs": { params: UsageRunsParams; result: UsageRunsResult };
  /** Who did what. */
  "audit.query": { params: AuditParams; result: AuditResult };
  /** This document. */
  "rpc.discover": { params: Record<string, never>; result: Record<string, unknown> };
}
export type MethodName = keyof Methods;

/** First words of messages that are commands. */
export const COMMANDS: ReadonlySet<string> = new Set(["/queue","/stop","/cancel","/context","/status","/model","/compact","/tools","/reset","/elevate","/pair","/subagents","/runtime","/backend","/help"]);
/** What a connection must not exceed. */
export const LIMITS = {
  burst: 500,
  maxArtifactBytes: 1048576,
  maxArtifacts: 500,
  maxAttachmentBytes: 10485760,
  maxAttachments: 10,
  maxFrameBytes: 16777216,
  maxInFlight: 1024,
  maxMessageBytes: 1048576,
  maxSubscriptions: 64,
  perSecond: 100,
};

/** The data of each event. */
export interface Events {
  /** More text of the answer. */
  content: ContentData;
  /** A tool begins. */
  tool_start: ToolStartData;
  /** What came of it; one for each start. */
  tool_end: ToolEndData;
  /** What the model thinks, for subscribers who want it. */
  thinking: ThinkingData;
  /** An image: a tool made it, or it came with a message. */
  attachment: AttachmentData;
  /** The context is nearly full. */
  context_warning: ContextWarningData;
  /** How the run goes. */
  run_state: RunStateData;
  /** The run is complete. */
  done: DoneData;
  /** It failed; the error frame follows. */
  error: ErrorData;
  /** May this call run? */
  tool_confirm: ToolConfirmData;
  /** That question is answered. */
  tool_confirm_done: ToolConfirmDoneData;
  /** A message waits. */
  queued: QueuedData;
  /** Anything else that is in the log. */
  session_changed: SessionChangedData;
  /** From here on something is missing: come back with this cursor. */
  lag: LagData;
  /** The last bytes of text were taken back. */
  retract: RetractData;
  /** How a lane stands now. */
  lane: LaneRow;
  /** A session is in memory, or is not any more, or was deleted. */
  session: SessionNews;
  /** A question, of whatever session. */
  ask: AskRow;
  /** That question has ended. */
  ask_done: AskDoneData;
  /** A companion came, went or said something. */
  node: NodeNews;
  /** Counters, now and then. */
  metrics: MetricsResult;
  /** A line of the log. */
  log: LogLine;
}
/** An event; where it stands is said to subscribers. */
export type AnyEvent = { [E in keyof Events]: { event: E; data: Events[E] } & Partial<EventPlaceData> }[keyof Events];

/** -5 */
export class AuthFailedError extends GatewayError {}
/** -4 */
export class AuthRequiredError extends GatewayError {}
/** -3 */
export class MethodNotFoundError extends GatewayError {}
/** -2 */
export class InvalidRequestError extends GatewayError {}
/** -1 */
export class ParseError extends GatewayError {}
/** 1 */
export class SessionNotFoundError extends GatewayError {}
/** 2 */
export class ToolNotFoundError extends GatewayError {}
/** 3 */
export class AgentBusyError extends GatewayError {}
/** 4 */
export class RequestCancelledError extends GatewayError {}
/** 5 */
export class InternalError extends GatewayError {}
const CLASSES: Record<number, typeof GatewayError> = {
  [-5]: AuthFailedError,
  [-4]: AuthRequiredError,
  [-3]: MethodNotFoundError,
  [-2]: InvalidRequestError,
  [-1]: ParseError,
  [1]: SessionNotFoundError,
  [2]: ToolNotFoundError,
  [3]: AgentBusyError,
  [4]: RequestCancelledError,
  [5]: InternalError,
};
/** The error of this code. */
export function errorOf(code: number, message: string, data?: Record<string, unknown>, method?: string): GatewayError {
  return new (CLASSES[code] ?? GatewayError)(message, code, data ?? {}, method);
}

export interface CallOptions {
  /** Nobody wants the answer any more. */
  signal?: AbortSignal;
  /** How long an answer may take, connecting included; 0: for ever. */
  timeoutMs?: number;
}

/** Every method with params and an answer, by its name. */
export interface Api {
  readonly sessions: {
    /** Makes a session, or takes one that is there, and attaches this connection to it. */
    create(params?: CreateParams, options?: CallOptions): Promise<CreateResult>;
    /** Removes a session and all that belongs to it. */
    delete(params: SessionParams, options?: CallOptions): Promise<SuccessResult>;
    /** Changes what holds for a session. */
    patch(params: PatchParams, options?: CallOptions): Promise<PatchResult>;
    /** Copies a session, whole or up to a message. */
    fork(params?: ForkParams, options?: CallOptions): Promise<ForkResult>;
    /** Sessions, the newest message first. */
    list(params?: ListParams, options?: CallOptions): Promise<ListResult>;
    /** A session and its newest messages. */
    get(params: GetParams, options?: CallOptions): Promise<GetResult>;
    /** Messages that have a text, of the newest sessions first. */
    search(params: SearchParams, options?: CallOptions): Promise<SearchResult>;
  };
  readonly agent: {
    /** Stops what runs or waits. */
    cancel(params?: CancelParams, options?: CallOptions): Promise<CancelResult>;
    /** Whether this connection is asked before tools run. */
    setToolUseCallback(params: CallbackParams, options?: CallOptions): Promise<SuccessResult>;
    /** Answers `tool_confirm`. */
    confirmTool(params: ConfirmParams, options?: CallOptions): Promise<ConfirmResult>;
    /** Waits for the end of a run. */
    wait(params?: WaitParams, options?: CallOptions): Promise<WaitResult>;
  };
  readonly queue: {
    /** What waits in a session. */
    list(params: QueueParams, options?: CallOptions): Promise<QueueResult>;
    /** Takes back a message that waits. */
    remove(params: RemoveParams, options?: CallOptions): Promise<RemoveResult>;
  };
  readonly commands: {
    /** The slash commands. */
    list(params?: Record<string, never>, options?: CallOptions): Promise<CommandsResult>;
  };
  readonly tools: {
    /** Which tools there are. */
    list(params?: ToolsParams, options?: CallOptions): Promise<ToolsResult>;
    /** Runs a tool by hand, beside the lane. */
    execute(params: ExecuteParams, options?: CallOptions): Promise<ExecuteResult>;
  };
  readonly events: {
    /** Stored events of a session, a page at a time. */
    replay(params: ReplayParams, options?: CallOptions): Promise<ReplayResult>;
  };
  readonly system: {
    /** What this gateway is. */
    info(params?: Record<string, never>, options?: CallOptions): Promise<InfoResult>;
    /** What can be asked here. */
    capabilities(params?: Record<string, never>, options?: CallOptions): Promise<CapabilitiesResult>;
    /** Who wrote, and when. */
    presence(params?: PresenceParams, options?: CallOptions): Promise<PresenceResult>;
    /** Who wrote how much, day by day. */
    sessionAnalytics(params?: AnalyticsParams, options?: CallOptions): Promise<AnalyticsResult>;
    /** How full contexts are. */
    contextUsage(params?: ContextParams, options?: CallOptions): Promise<ContextResult>;
    /** Counters since the start. */
    metrics(params?: Record<string, never>, options?: CallOptions): Promise<MetricsResult>;
    /** How long models take. */
    latency(params?: LatencyParams, options?: CallOptions): Promise<LatencyResult>;
    /** Who is connected. */
    connections(params?: Record<string, never>, options?: CallOptions): Promise<ConnectionsResult>;
    /** Ends a connection; what runs goes on. */
    closeConnection(params: CloseConnectionParams, options?: CallOptions): Promise<CloseConnectionResult>;
    /** Companions that are here. */
    nodes(params?: Record<string, never>, options?: CallOptions): Promise<NodesResult>;
    /** Where companions are. */
    location(params?: Record<string, never>, options?: CallOptions): Promise<LocationsResult>;
  };
  readonly auth: {
    /** Who showed a wrong credential, and which browsers logged in. */
    attempts(params?: AttemptsParams, options?: CallOptions): Promise<AttemptsResult>;
  };
  readonly asks: {
    /** Open questions of all sessions, oldest first. */
    list(params?: AsksParams, options?: CallOptions): Promise<AsksResult>;
  };
  readonly lanes: {
    /** What every lane does. */
    list(params?: LanesParams, options?: CallOptions): Promise<LanesResult>;
    /** Runs that were, and those that are. */
    history(params?: LaneHistoryParams, options?: CallOptions): Promise<LaneHistoryResult>;
  };
  readonly canvas: {
    /** Puts an artifact there whole. */
    put(params: CanvasPutParams, options?: CallOptions): Promise<CanvasPutResult>;
    /** One artifact. */
    get(params: CanvasOneParams, options?: CallOptions): Promise<CanvasGetResult>;
    /** Artifacts, newest first. */
    list(params?: CanvasListParams, options?: CallOptions): Promise<CanvasListResult>;
    /** Takes an artifact away. */
    delete(params: CanvasOneParams, options?: CallOptions): Promise<CanvasDeleteResult>;
    /** Takes all artifacts of a session away. */
    clear(params?: CanvasAllParams, options?: CallOptions): Promise<CanvasClearResult>;
  };
  readonly memory: {
    /** The checkpoint of a session. */
    get(params?: MemoryGetParams, options?: CallOptions): Promise<MemoryGetResult>;
    /** Checkpoints of all sessions, newest first. */
    list(params?: MemoryListParams, options?: CallOptions): Promise<MemoryListResult>;
  };
  readonly node: {
    /** A companion is here. */
    register(params: RegisterParams, options?: CallOptions): Promise<RegisterResult>;
    readonly capabilities: {
      /** What was agreed. */
      get(params?: Record<string, never>, options?: CallOptions): Promise<NodeCapabilitiesResult>;
    };
    readonly location: {
      /** Where the companion is. */
      set(params: NodeLocation, options?: CallOptions): Promise<SetLocationResult>;
      /** Where it said it is. */
      get(params?: Record<string, never>, options?: CallOptions): Promise<LocationResult>;
    };
    readonly status: {
      /** How the companion does. */
      set(params?: NodeStatus, options?: CallOptions): Promise<SetStatusResult>;
    };
    readonly push_token: {
      /** How it can be woken. */
      set(params: PushTokenParams, options?: CallOptions): Promise<SetPushResult>;
    };
  };
  readonly config: {
    /** Settings in effect, without secrets. */
    get(params?: ConfigParams, options?: CallOptions): Promise<unknown>;
    /** What can be set, as a JSON Schema. */
    schema(params?: Record<string, never>, options?: CallOptions): Promise<unknown>;
    /** Writes a setting into the user's file and takes it over. */
    set(params: ConfigSetParams, options?: CallOptions): Promise<ConfigSetResult>;
    /** Reads the settings again. */
    reload(params?: ReloadParams, options?: CallOptions): Promise<ReloadResult>;
  };
  readonly pairing: {
    /** A code for an unknown sender. */
    generate(params?: GenerateParams, options?: CallOptions): Promise<GenerateResult>;
    /** Codes, and who was let in. */
    list(params?: Record<string, never>, options?: CallOptions): Promise<PairingListResult>;
    /** Takes a code or a sender back. */
    revoke(params?: RevokeParams, options?: CallOptions): Promise<RevokeResult>;
  };
  readonly usage: {
    /** What was used. */
    report(params?: UsageParams, options?: CallOptions): Promise<UsageResult>;
    /** The runs behind a sum, the dearest first. */
    runs(params?: UsageRunsParams, options?: CallOptions): Promise<UsageRunsResult>;
  };
  readonly audit: {
    /** Who did what. */
    query(params?: AuditParams, options?: CallOptions): Promise<AuditResult>;
  };
  readonly rpc: {
    /** This document. */
    discover(params?: Record<string, never>, options?: CallOptions): Promise<Record<string, unknown>>;
  };
}

/** The names again, for those who call them; 1: it changes nothing. */
const FAMILIES: Families = {
  sessions: {
    create: 0,
    delete: 0,
    patch: 0,
    fork: 0,
    list: 1,
    get: 1,
    search: 1,
  },
  agent: {
    cancel: 0,
    setToolUseCallback: 0,
    confirmTool: 0,
    wait: 1,
  },
  queue: {
    list: 1,
    remove: 0,
  },
  commands: {
    list: 1,
  },
  tools: {
    list: 1,
    execute: 0,
  },
  events: {
    replay: 1,
  },
  system: {
    info: 1,
    capabilities: 1,
    presence: 1,
    sessionAnalytics: 1,
    contextUsage: 1,
    metrics: 1,
    latency: 1,
    connections: 0,
    closeConnection: 0,
    nodes: 1,
    location: 1,
  },
  auth: {
    attempts: 0,
  },
  asks: {
    list: 1,
  },
  lanes: {
    list: 1,
    history: 1,
  },
  canvas: {
    put: 0,
    get: 1,
    list: 1,
    delete: 0,
    clear: 0,
  },
  memory: {
    get: 1,
    list: 1,
  },
  node: {
    register: 0,
    capabilities: {
      get: 0,
    },
    location: {
      set: 0,
      get: 0,
    },
    status: {
      set: 0,
    },
    push_token: {
      set: 0,
    },
  },
  config: {
    get: 1,
    schema: 1,
    set: 0,
    reload: 0,
  },
  pairing: {
    generate: 0,
    list: 0,
    revoke: 0,
  },
  usage: {
    report: 1,
    runs: 1,
  },
  audit: {
    query: 0,
  },
  rpc: {
    discover: 1,
  },
};
type Families = { readonly [name: string]: number | Families };

/** The methods, each of which asks by its full name. */
export function apiOf(request: (method: string, params: object, options?: CallOptions) => Promise<unknown>, families = FAMILIES, path = ""): Api {
  const calls = Object.entries(families).map(([name, it]) => {
    const full = path + name;
    const call = (params: object = {}, options?: CallOptions) => request(full, params, options);
    return [name, typeof it === "object" ? apiOf(request, it, `${full}.`) : call];
  });
  return Object.fromEntries(calls);
}
/** Whether a method changes nothing: it is asked again where an answer was lost. */
export function isRead(method: string): boolean {
  return method.split(".").reduce<number | Families | undefined>((at, part) => (typeof at === "object" ? at[part] : undefined), FAMILIES) === 1;
}
