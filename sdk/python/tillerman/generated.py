# Made from the gateway's own types by `UPDATE_EXPECT=1 cargo test -p dialect-gateway --test it sdk`.
from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, Final, FrozenSet, List, Literal, Mapping, NotRequired, Type, TypedDict, Union, cast

from .errors import GatewayError


class LoginParams(TypedDict):
    """A token."""

    token: str



class LoginResult(TypedDict):
    """Who is there now."""

    authenticated: bool
    connectionId: str
    scopes: List[str]
    name: str
    """The token's or the user's."""



class SuccessResult(TypedDict):
    """It was done."""

    success: bool


LaneModeWord = Literal["collect", "followup", "steer", "steer_backlog", "interrupt"]
"""What a lane does with a message that comes while it is busy."""

OverflowWord = Literal["drop_old", "drop_new"]
"""Which message goes when there is no room."""

CoalesceWord = Literal["auto", "always", "never"]
"""Whether waiting messages become one turn."""


class QueuePart(TypedDict):
    """The rules of a lane; what is left out stays as it is."""

    mode: NotRequired[LaneModeWord]
    cap: NotRequired[int]
    """Messages that wait; the run is not counted."""
    overflow: NotRequired[OverflowWord]
    debounceMs: NotRequired[int]
    summarizeOverflow: NotRequired[bool]
    coalesce: NotRequired[CoalesceWord]



class CreateParams(TypedDict):
    """A new session, or one that is there."""

    sessionId: NotRequired[str]
    title: NotRequired[str]
    modelTier: NotRequired[str]
    queue: NotRequired[QueuePart]
    cwd: NotRequired[str]
    """An absolute path of a directory of this machine."""



class CreateResult(TypedDict):
    """The session that this connection is attached to now."""

    sessionId: str
    created: bool



class SessionParams(TypedDict):
    """Which session."""

    sessionId: str



class ElevationPart(TypedDict):
    """How long what would be asked is allowed: until a moment, or so many minutes from now."""

    active: NotRequired[bool]
    """`false`: no more; then nothing else is needed."""
    untilMs: NotRequired[int]
    minutes: NotRequired[int]



class PatchParams(TypedDict):
    """What is to be otherwise."""

    sessionId: str
    title: NotRequired[str]
    modelTier: NotRequired[str]
    queue: NotRequired[Union[QueuePart, None]]
    """null: the session has no rules of its own any more."""
    elevation: NotRequired[Union[ElevationPart, None]]
    """null: no more."""
    notify: NotRequired[bool]



class QueuePolicy(TypedDict):
    """The rules of a lane."""

    mode: LaneModeWord
    cap: int
    overflow: OverflowWord
    debounceMs: int
    summarizeOverflow: bool
    coalesce: CoalesceWord



class Elevation(TypedDict):
    """While it is active nobody is asked."""

    active: bool
    untilMs: Union[int, None]



class SessionConfig(TypedDict):
    """What holds for a session."""

    modelTier: str
    queue: QueuePolicy
    elevation: Elevation



class PatchResult(TypedDict):
    """What holds now."""

    sessionId: str
    config: SessionConfig
    title: NotRequired[str]



class ForkParams(TypedDict):
    """Everything before the user message `atSeq`, or everything."""

    sessionId: NotRequired[str]
    atSeq: NotRequired[int]



class ForkedFrom(TypedDict):
    """Where a copy comes from."""

    sessionId: str
    seq: NotRequired[int]



class ForkResult(TypedDict):
    """The copy."""

    sessionId: str
    forkedFrom: ForkedFrom



class AttachmentPart(TypedDict):
    """A file that comes with a message: an image, or text."""

    mimeType: str
    data: str
    """Base64."""
    filename: NotRequired[str]



class SendParams(TypedDict):
    """A message for the model, or a command where its first word is one."""

    message: str
    """May be empty where there are attachments."""
    sessionId: NotRequired[str]
    session: NotRequired[str]
    """The same as `sessionId`."""
    attachments: NotRequired[List[AttachmentPart]]
    """Usually []."""
    idempotencyKey: NotRequired[str]
    """The same message with the same key is taken once, within a day."""
    modelTier: NotRequired[str]
    """For the session, from now on."""
    timeoutMs: NotRequired[int]
    """After this it is cancelled."""
    traceparent: NotRequired[str]



class UsageSum(TypedDict):
    """What was used. Prompt tokens that came out of a cache, or went into one, are counted apart."""

    inputTokens: int
    outputTokens: int
    cacheReadTokens: NotRequired[int]
    cacheWriteTokens: NotRequired[int]
    costUsd: NotRequired[float]


StopWord = Literal["end_turn", "max_tokens", "max_iterations", "refusal", "interrupted", "error", "budget"]
"""Why a run stopped."""


class Collected(TypedDict):
    """Several messages became one run."""

    runId: str
    count: int
    leader: bool



class CommandDone(TypedDict):
    """What came of a slash command."""

    name: str
    ok: bool
    data: Any



class SendResult(TypedDict):
    """All that the model said, its messages apart by an empty line."""

    content: str
    usage: UsageSum
    sessionId: str
    response: str
    """The same as `content`."""
    runId: NotRequired[str]
    stopReason: NotRequired[StopWord]
    model: NotRequired[str]
    replayed: NotRequired[bool]
    """A repeat of a message that was answered before."""
    steered: NotRequired[bool]
    """It was handed to a run that was under way."""
    collected: NotRequired[Collected]
    command: NotRequired[CommandDone]



class CancelParams(TypedDict):
    """One request of this connection; else everything of a session; else the attached session and everything sent here."""

    sessionId: NotRequired[str]
    requestId: NotRequired[int]



class CancelResult(TypedDict):
    """What was stopped."""

    cancelled: bool
    active: bool
    queued: int



class QueueParams(TypedDict):
    """Whose queue."""

    sessionId: str



class QueuedItem(TypedDict):
    """A message that waits."""

    itemId: str
    text: str
    """How it begins."""
    at: NotRequired[int]
    """Since when, in milliseconds since 1970."""
    by: NotRequired[str]
    """Whose it is."""
    position: int
    """Its place among those that wait, from 0."""
    attachments: int
    """How many images it has."""



class QueueResult(TypedDict):
    """What waits, in its order."""

    items: List[QueuedItem]



class RemoveParams(TypedDict):
    """Which message."""

    sessionId: str
    itemId: str



class RemoveResult(TypedDict):
    """`false`: it does not wait any more."""

    removed: bool



class SlashRow(TypedDict):
    """A slash command."""

    name: str
    args: str
    summary: str



class CommandsResult(TypedDict):
    """What a message can begin with instead of being for the model."""

    commands: List[SlashRow]



class CallbackParams(TypedDict):
    """Whether this connection is asked before tools of this session run."""

    sessionId: str
    enabled: bool


DecisionWord = Literal["allow", "allow_session", "deny"]
"""What a person says to a call."""


class ConfirmParams(TypedDict):
    """The answer to `tool_confirm`."""

    sessionId: NotRequired[str]
    """Models count their calls anew in each session: without it, a call of this name must be open in one alone."""
    callId: str
    askId: NotRequired[str]
    """Where it is given, the answer counts for that question alone."""
    decision: DecisionWord
    reason: NotRequired[str]
    """For the model, where it is a no."""



class ConfirmResult(TypedDict):
    """`false`: the question is not open any more."""

    accepted: bool



class WaitParams(TypedDict):
    """A run by its id or by the key of its message."""

    runId: NotRequired[str]
    idempotencyKey: NotRequired[str]
    sessionId: NotRequired[str]
    timeoutMs: NotRequired[int]
    """Usually 30000."""


WaitState = Literal["waiting", "running", "complete", "error", "cancelled"]
"""How a run stands."""


class WaitError(TypedDict):
    """Why a run failed."""

    code: int
    message: str
    data: NotRequired[Any]



class WaitResult(TypedDict):
    """A run as it stands."""

    runId: NotRequired[str]
    state: WaitState
    content: NotRequired[str]
    usage: NotRequired[UsageSum]
    error: NotRequired[WaitError]



class ToolsParams(TypedDict):
    """Of a session, or as every session has them."""

    sessionId: NotRequired[str]



class ToolInfo(TypedDict):
    """A tool."""

    name: str
    description: str
    inputSchema: Any



class ToolsResult(TypedDict):
    """The tools."""

    tools: List[ToolInfo]



class ExecuteParams(TypedDict):
    """A call by hand."""

    sessionId: NotRequired[str]
    tool: str
    args: NotRequired[Dict[str, Any]]
    timeoutMs: NotRequired[int]
    """Usually 120000."""



class ExecuteResult(TypedDict):
    """What came of a call by hand."""

    success: bool
    output: str
    error: NotRequired[str]
    truncated: NotRequired[bool]
    fullBytes: NotRequired[int]


EventCursor = Union[int, str]
"""How far a session was told: keep it and bring it back. A number stands for a whole entry of the log."""


class SubscribeParams(TypedDict):
    """`session:<id>`, `sessions`, `asks`, `lanes`, `nodes`, `metrics`, `logs`."""

    topics: List[str]
    afterSeq: NotRequired[EventCursor]
    """Of the session that is named: what is stored after it comes first."""
    thinking: NotRequired[bool]
    """With what the models think. Usually false."""



class SubscribeResult(TypedDict):
    """Its events follow under the id of the request."""

    subscriptionId: int
    seq: int
    cursor: EventCursor



class UnsubscribeParams(TypedDict):
    """Which one."""

    subscriptionId: int



class UnsubscribeResult(TypedDict):
    """Whether there was one."""

    unsubscribed: bool



class ReplayParams(TypedDict):
    """Stored events after a cursor, or the newest before a place."""

    sessionId: str
    afterSeq: NotRequired[EventCursor]
    beforeSeq: NotRequired[int]
    """The newest entries before this one, oldest first; a number beyond the end means the newest there are."""
    limit: NotRequired[int]
    """Entries of the log; one makes at least one event. Usually 200."""
    thinking: NotRequired[bool]
    """With what the models thought. Usually false."""



class ReplayedEvent(TypedDict):
    """An event as it was stored."""

    event: str
    data: Any
    seq: int
    cursor: EventCursor
    sessionId: str
    runId: NotRequired[str]
    at: int
    """When it was stored, in milliseconds since 1970."""



class ReplayResult(TypedDict):
    """A page."""

    events: List[ReplayedEvent]
    nextSeq: EventCursor
    """For the next page."""
    prevSeq: NotRequired[int]
    """For the page before it, as `beforeSeq`; only where that was asked for."""
    complete: bool
    """Nothing more is stored, in the direction that was asked for."""



class InfoResult(TypedDict):
    """What this gateway is."""

    version: str
    uptime: int
    """Whole seconds."""
    connections: int
    protocol: int
    connectionId: str
    sessionId: str
    """The session that is meant where none is named."""
    name: str
    pid: int
    instance: str
    """Another one after a restart."""
    rssBytes: NotRequired[int]
    """Memory in use."""
    cpuPct: NotRequired[float]
    """Of one processor, since it was last asked for: 150 is one and a half of them."""
    model: str
    """The one that a new session has where nothing says otherwise."""



class ProtocolVersion(TypedDict):
    """Of the wire."""

    version: int



class NodeGates(TypedDict):
    """Companions, and the one on this connection."""

    enabled: bool
    locationEnabled: bool
    pushEnabled: bool
    allowedRoles: List[str]
    registered: bool
    role: Union[str, None]
    nodeId: Union[str, None]



class GatewayLimits(TypedDict):
    """What a connection must not exceed."""

    maxFrameBytes: int
    maxMessageBytes: int
    maxAttachments: int
    maxAttachmentBytes: int
    """Of one message, decoded, together."""
    maxInFlight: int
    """Requests without an answer."""
    maxSubscriptions: int
    burst: int
    """Requests at once, and then so many a second."""
    perSecond: int
    maxArtifactBytes: int
    maxArtifacts: int



class CapabilitiesResult(TypedDict):
    """Everything that can be asked here."""

    protocol: ProtocolVersion
    nodes: NodeGates
    featureGates: Dict[str, Any]
    methods: List[str]
    events: List[str]
    limits: GatewayLimits
    scopes: List[str]
    """What this connection may do: scopes of methods."""


Online = Literal["online", "offline"]
"""Whether somebody was heard of lately."""


class PresenceParams(TypedDict):
    """Who wrote, newest first."""

    channel: NotRequired[str]
    status: NotRequired[Online]
    limit: NotRequired[int]
    """Usually 50."""



class PresenceRow(TypedDict):
    """Somebody who wrote."""

    channel: str
    senderId: str
    senderName: Union[str, None]
    firstSeenAt: int
    lastSeenAt: int
    messageCount: int
    status: Online



class PresenceSummary(TypedDict):
    """Of the channel, before status and limit."""

    total: int
    online: int
    offline: int



class PresenceResult(TypedDict):
    """Who wrote."""

    presence: List[PresenceRow]
    summary: PresenceSummary



class AnalyticsParams(TypedDict):
    """The last so many days of UTC, and how many of each list."""

    days: NotRequired[int]
    """Usually 30."""
    topLimit: NotRequired[int]
    """Usually 10."""



class AnalyticsDay(TypedDict):
    """Messages of people on a day, and the sessions they were for."""

    day: str
    sessions: int
    messages: int



class TopSession(TypedDict):
    """`lastActivity`: seconds since 1970."""

    sessionId: str
    messages: int
    lastActivity: Union[int, None]



class TopTool(TypedDict):
    """How often a tool was called."""

    toolName: str
    executions: int



class TopTopic(TypedDict):
    """How many titles have this word."""

    topic: str
    occurrences: int



class AnalyticsResult(TypedDict):
    """From sums that are kept; no history is read. Days on which nobody wrote are left out."""

    daily: List[AnalyticsDay]
    topSessions: List[TopSession]
    topTools: List[TopTool]
    topTopics: List[TopTopic]
    averageMessagesPerSession: float
    """Two decimals."""
    totalSessions: int
    totalMessages: int



class ContextParams(TypedDict):
    """All that are in memory, or one."""

    sessionId: NotRequired[str]



class Budget(TypedDict):
    """How full the context is."""

    estimatedTokens: int
    contextWindow: int
    remainingTokens: int
    usagePct: float
    """One decimal."""
    thresholdPct: int
    thresholdTokens: int
    shouldCompact: bool



class ContextRow(TypedDict):
    """How full the context of a session is."""

    sessionId: str
    budget: Budget
    title: NotRequired[str]
    model: NotRequired[str]



class CompactionRow(TypedDict):
    """A summary took the place of what was said before."""

    at: int
    seq: int
    tokensBefore: int
    tokensAfter: int



class ContextResult(TypedDict):
    """Sessions that are in memory. `compactions`: where one is named and kept, its newest 50, in memory or not; newest first."""

    sessions: List[ContextRow]
    compactions: NotRequired[List[CompactionRow]]



class RecentCall(TypedDict):
    """One answer of a model."""

    ts: int
    model: str
    latencyMs: int
    ok: bool
    inputTokens: int
    outputTokens: int
    sessionId: str
    status: str
    """`ok`, `retried` or `failed`."""



class ModelCalls(TypedDict):
    """Of the last 200."""

    total: int
    avgLatency: int
    errorRate: float
    recentCalls: List[RecentCall]



class RunStates(TypedDict):
    """Each counted once per run."""

    start: int
    complete: int
    cancel_requested: int
    cancelled: int
    error: int



class CancelLatency(TypedDict):
    """From the word to the end, the last 100."""

    sampleCount: int
    samples: List[int]



class Reactions(TypedDict):
    """Rules that fired; there are none."""

    matched: int
    skipped: int
    skipReasons: Dict[str, Any]



class MetricsResult(TypedDict):
    """Since the process began."""

    messagesProcessed: int
    errors: int
    activeRequests: int
    """Runs that are under way."""
    uptime: int
    modelCalls: ModelCalls
    runStates: RunStates
    cancelLatencyMs: CancelLatency
    reactions: Reactions
    queueDepth: int
    """Messages that wait, over all lanes."""



class LatencyParams(TypedDict):
    """The last so many minutes, in steps of so many seconds: at most 300 of them."""

    windowMinutes: NotRequired[int]
    """Usually 60."""
    bucketSeconds: NotRequired[int]
    """Usually 60."""



class LatencyBucket(TypedDict):
    """The calls that ended in one step, which began at `ts`."""

    ts: int
    calls: int
    """Calls that ended by themselves, well or not."""
    errors: int
    p50: int
    """From the request to the end of the answer."""
    p95: int
    p99: int
    firstTokenP50: NotRequired[int]
    """From the request to the first word of the answer."""
    firstTokenP95: NotRequired[int]
    firstTokenP99: NotRequired[int]



class LatencySum(TypedDict):
    """Milliseconds. The first word's are absent where none came."""

    calls: int
    """Calls that ended by themselves, well or not."""
    errors: int
    p50: int
    """From the request to the end of the answer."""
    p95: int
    p99: int
    firstTokenP50: NotRequired[int]
    """From the request to the first word of the answer."""
    firstTokenP95: NotRequired[int]
    firstTokenP99: NotRequired[int]



class ModelLatency(TypedDict):
    """The calls of one model."""

    model: str
    calls: int
    """Calls that ended by themselves, well or not."""
    errors: int
    p50: int
    """From the request to the end of the answer."""
    p95: int
    p99: int
    firstTokenP50: NotRequired[int]
    """From the request to the first word of the answer."""
    firstTokenP95: NotRequired[int]
    firstTokenP99: NotRequired[int]



class StatusCount(TypedDict):
    """`status`: what the server answered, `429`; or a word where none did, `network`."""

    status: str
    count: int



class CancelTimes(TypedDict):
    """From the word to the end of a run, the last 100 of the process."""

    p50: NotRequired[int]
    p95: NotRequired[int]
    p99: NotRequired[int]
    samples: List[int]



class LatencyResult(TypedDict):
    """Steps in which no call ended are left out. Nothing before `since` is known."""

    generatedAt: int
    since: int
    windowMinutes: int
    bucketSeconds: int
    buckets: List[LatencyBucket]
    total: LatencySum
    byModel: List[ModelLatency]
    """Those with most calls first."""
    errorsByStatus: List[StatusCount]
    cancel: CancelTimes


CredentialKind = Literal["token", "cookie", "user", "tailscale", "none"]
"""By what somebody is known."""


class ConnectionRow(TypedDict):
    """A socket or a stream of events that is open."""

    connectionId: str
    name: NotRequired[str]
    """Of the token or the user."""
    scopes: List[str]
    peer: str
    """The other end's address, or `unix:UID`."""
    path: str
    since: int
    isSelf: bool
    """The one that asks."""
    credential: CredentialKind



class ConnectionsResult(TypedDict):
    """The oldest first, at most 1,000; `total`: how many there are."""

    connections: List[ConnectionRow]
    total: int



class CloseConnectionParams(TypedDict):
    """As `system.connections` names it."""

    connectionId: str



class CloseConnectionResult(TypedDict):
    """`false`: there is no such connection any more."""

    closed: bool



class AttemptsParams(TypedDict):
    """At most so many."""

    limit: NotRequired[int]
    """Usually 50."""


AttemptKind = Literal["token", "cookie", "unreadable", "login", "message"]
"""Where a credential was shown: in a header, in a browser's cookie, where there should have been one and was something else, at `/api/login`, or in the middle of a conversation."""


class AttemptRow(TypedDict):
    """Somebody showed a credential. What it was is not kept."""

    at: int
    peer: str
    origin: NotRequired[str]
    """The page that it came from, as its browser says."""
    path: str
    kind: AttemptKind
    ok: bool



class AttemptsResult(TypedDict):
    """The newest first: all that failed, and browsers that logged in; the last 200 since the start."""

    attempts: List[AttemptRow]



class NodeCapabilities(TypedDict):
    """`enabled`: those of the declared ones that are granted here."""

    declared: List[str]
    enabled: List[str]



class NodeLocation(TypedDict):
    """Where a companion is."""

    latitude: float
    longitude: float
    accuracyMeters: NotRequired[float]
    source: NotRequired[str]
    capturedAt: NotRequired[int]
    """By its own clock."""
    receivedAt: NotRequired[int]
    """By ours; whatever the companion says of it is passed over."""


PowerSource = Literal["ac", "battery", "unknown"]
"""What it runs on."""


class NodeStatus(TypedDict):
    """How a companion does. Only what is given is changed."""

    platform: NotRequired[str]
    appVersion: NotRequired[str]
    deviceName: NotRequired[str]
    statusText: NotRequired[str]
    batteryPct: NotRequired[float]
    powerSource: NotRequired[PowerSource]
    updatedAt: NotRequired[int]


PushProvider = Literal["apns", "fcm"]
"""Whose push service."""


class PushState(TypedDict):
    """The token itself is never told."""

    provider: PushProvider
    tokenPreview: str
    updatedAt: int



class NodeRow(TypedDict):
    """A companion that is here."""

    connectionId: str
    id: str
    role: str
    protocolVersion: int
    capabilities: NodeCapabilities
    location: Union[NodeLocation, None]
    status: Union[NodeStatus, None]
    push: Union[PushState, None]
    registeredAt: int
    lastSeenAt: int



class NodesSummary(TypedDict):
    """How many."""

    total: int



class NodesResult(TypedDict):
    """All that are here."""

    nodes: List[NodeRow]
    summary: NodesSummary



class NodeName(TypedDict):
    """Which companion."""

    id: str
    role: str



class LocatedNode(TypedDict):
    """One that has said where it is."""

    node: NodeName
    location: NodeLocation



class LocationsResult(TypedDict):
    """Those that have said where they are."""

    locations: List[LocatedNode]



class ListParams(TypedDict):
    """Those with the newest message first."""

    includePersisted: NotRequired[bool]
    """Also those that nobody has touched since the process began. Usually false."""
    frontend: NotRequired[str]
    """What stands before the first colon of their ids; `ws` where there is none."""
    limit: NotRequired[int]
    """Usually 50."""
    offset: NotRequired[int]
    """Usually 0."""
    query: NotRequired[str]
    """Only those whose id or title has this, whatever the case of its letters."""
    childOf: NotRequired[str]
    """Those that work or worked for a call of this session, which are listed only so."""


LaneState = Literal["idle", "running", "waiting", "asking"]
"""What a lane does."""


class SessionLane(TypedDict):
    """What its lane does."""

    state: LaneState
    depth: int
    runId: NotRequired[str]



class SessionParent(TypedDict):
    """The call that a session works or worked for, and whose it is."""

    sessionId: str
    callId: NotRequired[str]



class SessionRow(TypedDict):
    """A session."""

    id: str
    frontend: str
    userId: str
    messageCount: int
    lastMessageAt: Union[int, None]
    config: SessionConfig
    title: NotRequired[str]
    lane: SessionLane
    cwd: NotRequired[str]
    """The directory that it works in."""
    model: NotRequired[str]
    createdAt: NotRequired[int]
    costUsd: NotRequired[float]
    """What it has used, by the prices of the day; absent where one was not known. Sub-agents have sessions of their own."""
    parent: NotRequired[SessionParent]



class ListResult(TypedDict):
    """`total`: before limit and offset."""

    sessions: List[SessionRow]
    total: int



class GetParams(TypedDict):
    """A session and the newest messages of it."""

    sessionId: str
    historyLimit: NotRequired[int]
    """Usually 500."""
    before: NotRequired[int]
    """Only messages before this entry of the log."""
    includeTools: NotRequired[bool]
    """With what tools gave. Usually false."""


HistoryRole = Literal["user", "assistant", "tool"]
"""Who said it."""


class HistoryRow(TypedDict):
    """A message."""

    role: HistoryRole
    content: str
    at: int
    seq: int
    """The entry of the log that it is."""
    interrupted: NotRequired[bool]
    """It was cut short."""
    tool: NotRequired[str]



class GetResult(TypedDict):
    """A session and what was said in it, oldest first."""

    id: str
    createdAt: str
    lastActiveAt: str
    history: List[HistoryRow]
    frontend: str
    userId: str
    messageCount: int
    historyTruncated: bool
    """There are older ones."""
    config: SessionConfig
    lane: SessionLane
    title: NotRequired[str]



class SearchParams(TypedDict):
    """A text in what people and models said, whatever the case of its letters."""

    query: str
    """Two characters or more, or one that is none of ASCII's: a word can be one sign."""
    limit: NotRequired[int]
    """Usually 20."""
    cursor: NotRequired[str]
    """What the answer before gave, to go on behind it."""



class SearchHit(TypedDict):
    """A message that has it."""

    sessionId: str
    title: NotRequired[str]
    seq: int
    """The entry of the log that it is."""
    at: int
    role: HistoryRole
    snippet: str
    """What stands around the first place, in one line."""



class SearchResult(TypedDict):
    """Sessions with the newest message first, of each the newest first. What was undone is found, too."""

    hits: List[SearchHit]
    cursor: NotRequired[str]
    """Where to go on; there may be no hit on the way."""
    complete: bool
    """There is nothing more to look through."""



class AsksParams(TypedDict):
    """Of one session, or of all."""

    sessionId: NotRequired[str]



class ConfirmFact(TypedDict):
    """One thing about the call."""

    label: str
    text: str



class AskRow(TypedDict):
    """An open question. Answered by `agent.confirmTool`, from any connection."""

    sessionId: str
    title: NotRequired[str]
    """The session's."""
    cwd: NotRequired[str]
    """Where the session works."""
    askedBy: NotRequired[str]
    """For whom the run works."""
    openedAt: int
    seq: NotRequired[int]
    """Its entry in the log."""
    callId: str
    tool: str
    args: Any
    risk: str
    """What the call needs: `read-only`, `workspace-write` or `danger-full-access`."""
    expiresAt: NotRequired[int]
    """After this it is a no. Not there where nobody is on the session: then it is kept longer."""
    summary: str
    """One line."""
    preview: NotRequired[List[ConfirmFact]]
    """All that a person has to see, where the tool says it."""
    askId: str
    """The question's own id: models count their calls anew, so a call's does not tell two questions apart."""
    mayHaveRun: NotRequired[bool]
    """Where it is true: the call was begun before a restart, and a yes may run it a second time."""



class AsksResult(TypedDict):
    """Open questions, oldest first."""

    asks: List[AskRow]



class LanesParams(TypedDict):
    """At most so many; those that work come first."""

    limit: NotRequired[int]
    """Usually 200."""



class LaneRow(TypedDict):
    """A lane that is in memory. Times are milliseconds since 1970."""

    sessionId: str
    state: LaneState
    depth: int
    """Messages that wait."""
    runId: NotRequired[str]
    since: NotRequired[int]
    """When the run began."""
    movedAt: int
    """When something last came of it."""
    stallInMs: NotRequired[int]
    """After so long without anything more it is ended."""
    mode: LaneModeWord
    oldestWaitMs: NotRequired[int]
    """How long the oldest message has waited."""
    title: NotRequired[str]
    model: NotRequired[str]
    tool: NotRequired[str]
    """The tool in hand."""
    cwd: NotRequired[str]
    """The directory it works in."""
    peers: int
    """Connections that are on it."""



class LanesResult(TypedDict):
    """Lanes that are in memory."""

    lanes: List[LaneRow]
    total: int



class LaneHistoryParams(TypedDict):
    """Runs of the last so many minutes, and at most so many of them."""

    windowMinutes: NotRequired[int]
    """Usually 60."""
    limit: NotRequired[int]
    """Usually 500."""


RunOutcome = Literal["running", "complete", "cancelled", "error"]
"""What became of a run."""


class LaneRun(TypedDict):
    """One run. Times are milliseconds since 1970."""

    sessionId: str
    title: NotRequired[str]
    runId: str
    queuedAt: NotRequired[int]
    """Since when the message waited that it began with; absent where none did."""
    startedAt: int
    endedAt: NotRequired[int]
    """Absent while it runs."""
    state: RunOutcome
    tools: int
    """How many calls of tools it began."""



class LaneHistoryResult(TypedDict):
    """Runs that were under way in the window, the newest first. Nothing before `since` is known."""

    since: int
    runs: List[LaneRun]



class CanvasPutParams(TypedDict):
    """Puts an artifact there whole, in the place of one with the same id."""

    sessionId: NotRequired[str]
    artifactId: str
    type: str
    title: NotRequired[str]
    content: Any
    metadata: NotRequired[Dict[str, Any]]



class Artifact(TypedDict):
    """An artifact. Times are milliseconds since 1970."""

    artifactId: str
    sessionId: str
    type: str
    title: Union[str, None]
    content: NotRequired[Any]
    """Left out where it was not asked for, or where the list had no more room."""
    contentOmitted: NotRequired[bool]
    """The list had no more room for its content and its metadata; `canvas.get` gives both."""
    metadata: Union[Any, None]
    createdAt: int
    updatedAt: int
    version: int
    """1 at first, and one more with each change."""



class CanvasPutResult(TypedDict):
    """The artifact as it is on the disk."""

    artifact: Artifact
    created: bool



class CanvasOneParams(TypedDict):
    """Which artifact."""

    sessionId: NotRequired[str]
    artifactId: str



class CanvasGetResult(TypedDict):
    """The artifact."""

    artifact: Artifact



class CanvasListParams(TypedDict):
    """Newest first."""

    sessionId: NotRequired[str]
    limit: NotRequired[int]
    """Usually 200."""
    includeContent: NotRequired[bool]
    """Usually true."""



class CanvasListResult(TypedDict):
    """`total`: before the limit."""

    artifacts: List[Artifact]
    total: int



class CanvasDeleteResult(TypedDict):
    """Whether it was there."""

    deleted: bool



class CanvasAllParams(TypedDict):
    """Of which session."""

    sessionId: NotRequired[str]



class CanvasClearResult(TypedDict):
    """How many there were."""

    cleared: int



class MemoryGetParams(TypedDict):
    """Of which session."""

    sessionId: NotRequired[str]



class MemoryEntry(TypedDict):
    """A checkpoint of a session. Times are milliseconds since 1970."""

    namespace: str
    sessionId: str
    runId: str
    """The run behind which it was written."""
    seq: int
    """The newest entry that it knows of."""
    text: NotRequired[str]
    """Markdown. Left out of lists."""
    createdAt: int
    updatedAt: int
    version: int
    """1 at first, and one more with each that took its place."""



class MemoryGetResult(TypedDict):
    """The newest checkpoint of the session."""

    entry: Union[MemoryEntry, None]



class MemoryListParams(TypedDict):
    """Newest first."""

    limit: NotRequired[int]
    """Usually 50."""



class MemoryListResult(TypedDict):
    """One for each session that has one."""

    entries: List[MemoryEntry]



class RegisterParams(TypedDict):
    """Who registers."""

    nodeId: str
    role: str
    protocolVersion: int
    capabilities: List[str]



class NodeProtocol(TypedDict):
    """The lower one of both counts."""

    serverVersion: int
    clientVersion: int
    negotiatedVersion: int



class RegisterResult(TypedDict):
    """It is registered on this connection."""

    registered: bool
    node: NodeName
    protocol: NodeProtocol
    capabilities: NodeCapabilities



class NodeCapabilitiesResult(TypedDict):
    """As it was agreed."""

    node: NodeName
    protocol: NodeProtocol
    capabilities: NodeCapabilities



class SetLocationResult(TypedDict):
    """What is known now."""

    updated: bool
    node: NodeName
    location: NodeLocation



class LocationResult(TypedDict):
    """null: it has not said."""

    node: NodeName
    location: Union[NodeLocation, None]



class SetStatusResult(TypedDict):
    """What is known now."""

    updated: bool
    node: NodeName
    status: NodeStatus



class PushTokenParams(TypedDict):
    """By which the companion can be woken."""

    provider: PushProvider
    token: str



class SetPushResult(TypedDict):
    """What is kept."""

    updated: bool
    node: NodeName
    push: PushState



class ConfigParams(TypedDict):
    """`server.queue`: only what is below it."""

    path: NotRequired[str]



class ConfigSetParams(TypedDict):
    """`null` takes the setting out of the file. `dryRun`: only says what would change."""

    path: str
    value: Any
    dryRun: NotRequired[bool]
    """Usually false."""


ConfigChange = TypedDict(
    "ConfigChange",
    {
        "path": "str",
        "from": "Union[Any, None]",
        "to": "Union[Any, None]",
        "restartRequired": "bool",
    },
)
"""One setting that is otherwise; `null`: it is not set. Secrets are `***`."""


class ConfigSetResult(TypedDict):
    """`shadowedBy`: what is laid over the file there, so that the change does not hold."""

    success: bool
    changes: List[ConfigChange]
    shadowedBy: NotRequired[str]



class ReloadParams(TypedDict):
    """`dryRun`: only says what would change."""

    dryRun: NotRequired[bool]
    """Usually false."""



class ReloadResult(TypedDict):
    """Names of settings that are otherwise now; `changes` says how."""

    success: bool
    changed: List[str]
    restartRequired: List[str]
    """Those that are otherwise than the process runs with, and hold after a new start: also of readings before this one."""
    changes: List[ConfigChange]



class GenerateParams(TypedDict):
    """Without a channel it is good on any."""

    channel: NotRequired[str]



class GenerateResult(TypedDict):
    """For the sender to write. Times of codes are ISO 8601, as those of a session."""

    code: str
    expiresAt: str



class CodeRow(TypedDict):
    """A code that is still good."""

    code: str
    channel: Union[str, None]
    createdAt: str
    expiresAt: str



class ApprovedRow(TypedDict):
    """A sender that was let in."""

    channel: str
    senderId: str
    approvedAt: str



class PairingListResult(TypedDict):
    """Newest first."""

    codes: List[CodeRow]
    approved: List[ApprovedRow]



class RevokeParams(TypedDict):
    """A code, or a sender of a channel."""

    code: NotRequired[str]
    channel: NotRequired[str]
    senderId: NotRequired[str]



class RevokeResult(TypedDict):
    """Whether there was one."""

    revoked: bool


GroupBy = Literal["day", "session", "model", "tool", "principal"]
"""By what usage is added up."""

UsageParams = TypedDict(
    "UsageParams",
    {
        "from": "NotRequired[str]",
        "to": "NotRequired[str]",
        "groupBy": "NotRequired[GroupBy]",
        "sessionId": "NotRequired[str]",
    },
)
"""Days of UTC as `2026-01-31`, both included; without them, the last 30."""


class UsageRow(TypedDict):
    """One sum."""

    key: str
    """The day, the session, the model, the tool or the principal."""
    calls: int
    """Answers of models, or calls of the tool."""
    failed: NotRequired[int]
    usage: UsageSum
    unpriced: int
    """Tokens whose price is not known; the cost does not have them."""


UsageResult = TypedDict(
    "UsageResult",
    {
        "rows": "List[UsageRow]",
        "from": "str",
        "to": "str",
        "since": "NotRequired[str]",
    },
)
"""Days in their order, everything else with the largest first. A day without a row was not used, unless it is before `since`."""

UsageRunsParams = TypedDict(
    "UsageRunsParams",
    {
        "from": "NotRequired[str]",
        "to": "NotRequired[str]",
        "sessionId": "NotRequired[str]",
        "model": "NotRequired[str]",
        "limit": "NotRequired[int]",
    },
)
"""Days of UTC as `2026-01-31`, both included; without them, the last 30."""

RunStateWord = Literal["start", "cancel_requested", "complete", "cancelled", "error"]
"""A run goes `start`, then perhaps `cancel_requested`, then one of the other three."""


class UsageRun(TypedDict):
    """One run, and what was used in it on these days. What its sub-agents used is in their own runs."""

    sessionId: str
    title: NotRequired[str]
    runId: str
    seq: int
    """The entry of the log that it begins with."""
    at: int
    """When it began."""
    durationMs: NotRequired[int]
    """Absent while it is under way."""
    model: NotRequired[str]
    """The model that answered last."""
    usage: UsageSum
    """`costUsd` by the prices of now; absent where one is not known."""
    state: RunStateWord
    """`start` while it is under way."""
    by: NotRequired[str]
    """Whose message it worked for."""
    tools: NotRequired[int]
    """Calls of tools that the model wanted."""



class UsageRunsResult(TypedDict):
    """The dearest first, then the largest. `truncated`: there are more, or not all logs were looked through."""

    runs: List[UsageRun]
    truncated: bool



class AuditParams(TypedDict):
    """Newest first."""

    sessionId: NotRequired[str]
    by: NotRequired[str]
    before: NotRequired[int]
    """Only lines before this one."""
    limit: NotRequired[int]
    """Usually 100."""
    verify: NotRequired[bool]
    """Whether the audit is as it was written; reads all of it. Usually false."""



class PreemptData(TypedDict):
    """A newer message took the place of a run."""

    laneId: str
    preemptedRunId: str
    byRequest: NotRequired[str]
    """The message, by its `itemId`. Absent in lines of older versions."""
    ts: int



class AuditRow(TypedDict):
    """One thing that somebody did."""

    number: int
    at: int
    by: str
    sessionId: str
    seq: NotRequired[int]
    action: str
    detail: NotRequired[str]
    data: NotRequired[PreemptData]
    """Of `queue.preempt`."""



class AuditResult(TypedDict):
    """`head` stands for all lines, `whole` says whether none was changed; both only where it was asked."""

    lines: List[AuditRow]
    head: NotRequired[str]
    whole: NotRequired[bool]
    broken: NotRequired[str]



class ContentData(TypedDict):
    """Concatenation of all that are not transient is the run's content."""

    text: str
    transient: NotRequired[bool]
    """Not a part of the answer."""
    final: NotRequired[bool]
    """For subscribers: the rest of a message, which is whole with it."""



class ToolStartData(TypedDict):
    """A call."""

    tool: str
    args: Any
    callId: str



class ToolOutcome(TypedDict):
    """What came of a call."""

    success: bool
    output: str
    error: Union[str, None]



class ToolEndData(TypedDict):
    """The end of a call."""

    tool: str
    callId: str
    result: ToolOutcome
    durationMs: int
    truncated: NotRequired[bool]
    """The output is longer than an event carries."""
    fullBytes: NotRequired[int]



class ThinkingData(TypedDict):
    """As `content`, of the model's thinking."""

    text: str
    final: NotRequired[bool]
    """The rest of it, which is whole with it."""



class AttachmentData(TypedDict):
    """Base64."""

    mimeType: str
    data: str
    filename: NotRequired[str]


ContextLevel = Literal["warning", "checkpoint", "compact"]
"""How full the context is."""


class ContextActions(TypedDict):
    """What was done about it."""

    checkpointSaved: bool
    autoCompacted: bool
    checkpointNamespace: NotRequired[str]
    """Where it was saved."""



class ContextWarningData(TypedDict):
    """At most one per run."""

    level: ContextLevel
    message: str
    budget: Budget
    actions: ContextActions



class RunStateData(TypedDict):
    """When, in milliseconds since 1970."""

    state: RunStateWord
    timestamp: int



class DoneData(TypedDict):
    """Only where the run is complete. Subscribers have had the content."""

    content: NotRequired[str]
    usage: UsageSum
    runId: NotRequired[str]
    model: NotRequired[str]
    """For subscribers: which model spoke last, and how long the run took."""
    durationMs: NotRequired[int]


QueueCode = Literal["overflow", "superseded"]
"""Why a lane did not take or keep a message."""


class QueueNote(TypedDict):
    """A message that a lane did not take or keep."""

    code: QueueCode
    laneId: str
    mode: LaneModeWord
    overflow: OverflowWord
    droppedCount: int
    """In this lane since it was last idle, this one and those that went together with it included."""
    summary: NotRequired[List[str]]
    """How what was dropped began, where the rules say so."""



class ErrorData(TypedDict):
    """The same code as the error frame behind it."""

    code: int
    message: str
    queue: NotRequired[QueueNote]
    data: NotRequired[Any]



class ToolConfirmData(TypedDict):
    """Answered by `agent.confirmTool`."""

    callId: str
    tool: str
    args: Any
    risk: str
    """What the call needs: `read-only`, `workspace-write` or `danger-full-access`."""
    expiresAt: NotRequired[int]
    """After this it is a no. Not there where nobody is on the session: then it is kept longer."""
    summary: str
    """One line."""
    preview: NotRequired[List[ConfirmFact]]
    """All that a person has to see, where the tool says it."""
    askId: str
    """The question's own id: models count their calls anew, so a call's does not tell two questions apart."""
    mayHaveRun: NotRequired[bool]
    """Where it is true: the call was begun before a restart, and a yes may run it a second time."""


AskEndWord = Literal["allow", "allow_session", "deny", "answered", "withdrawn"]
"""How a question ended."""


class ToolConfirmDoneData(TypedDict):
    """Whoever answered it."""

    callId: str
    decision: AskEndWord
    by: NotRequired[str]
    askId: str



class QueuedData(TypedDict):
    """Its place among those that wait, from 0."""

    itemId: str
    position: NotRequired[int]
    text: NotRequired[str]
    """How the message begins."""
    by: NotRequired[str]
    """Whose it is."""


ChangeKind = Literal["opened", "message", "taken", "settled", "setting", "shell", "shell_done", "call", "call_done", "ask", "ask_done", "requested", "retrying", "fell_back", "spent", "compacted", "moved", "restored", "summary", "note"]
"""What an entry of the log is that has no event of its own."""


class SessionChangedData(TypedDict):
    """`kind` says what."""

    kind: ChangeKind
    role: NotRequired[str]
    text: NotRequired[str]
    detail: NotRequired[Any]


LagData = TypedDict(
    "LagData",
    {
        "from": "int",
        "to": "int",
        "cursor": "str",
    },
)
"""Entries of the log that are not told."""


class RetractData(TypedDict):
    """The reply that this text was of came to nothing."""

    runId: NotRequired[str]
    bytes: int
    thinkingBytes: NotRequired[int]
    """Of thinking, for who is told it."""



class SubagentOf(TypedDict):
    """The session and the call that a sub-agent works for."""

    sessionId: str
    callId: str



class SessionNews(TypedDict):
    """`live`: it is in memory."""

    sessionId: str
    live: bool
    deleted: NotRequired[bool]
    """Only where it is true: it is gone for good, and no list has it any more."""
    title: NotRequired[str]
    lastSeq: NotRequired[int]
    parent: NotRequired[SubagentOf]
    """It is a sub-agent: for whose call it works."""



class AskDoneData(TypedDict):
    """A question has ended, whoever answered it."""

    sessionId: str
    askId: str
    callId: str
    decision: AskEndWord
    by: NotRequired[str]
    """Who answered."""


NodeChange = Literal["registered", "changed", "gone"]
"""What happened to a companion."""


class NodeNews(TypedDict):
    """What happened to a companion."""

    change: NodeChange
    node: NodeName
    at: int



class LogLine(TypedDict):
    """A line of the log, without secrets."""

    ts: int
    level: str
    text: str



class EventPlaceData(TypedDict):
    """Where an event of a session stands: what a subscriber's frames have beside `event` and `data`."""

    seq: int
    cursor: EventCursor
    sessionId: str
    runId: NotRequired[str]
    at: NotRequired[int]
    """When it was stored, in milliseconds since 1970; not there for what is not stored yet."""


class ContentEvent(TypedDict):
    """More text of the answer."""

    event: Literal["content"]
    data: ContentData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class ToolStartEvent(TypedDict):
    """A tool begins."""

    event: Literal["tool_start"]
    data: ToolStartData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class ToolEndEvent(TypedDict):
    """What came of it; one for each start."""

    event: Literal["tool_end"]
    data: ToolEndData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class ThinkingEvent(TypedDict):
    """What the model thinks, for subscribers who want it."""

    event: Literal["thinking"]
    data: ThinkingData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class AttachmentEvent(TypedDict):
    """An image: a tool made it, or it came with a message."""

    event: Literal["attachment"]
    data: AttachmentData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class ContextWarningEvent(TypedDict):
    """The context is nearly full."""

    event: Literal["context_warning"]
    data: ContextWarningData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class RunStateEvent(TypedDict):
    """How the run goes."""

    event: Literal["run_state"]
    data: RunStateData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class DoneEvent(TypedDict):
    """The run is complete."""

    event: Literal["done"]
    data: DoneData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class ErrorEvent(TypedDict):
    """It failed; the error frame follows."""

    event: Literal["error"]
    data: ErrorData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class ToolConfirmEvent(TypedDict):
    """May this call run?"""

    event: Literal["tool_confirm"]
    data: ToolConfirmData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class ToolConfirmDoneEvent(TypedDict):
    """That question is answered."""

    event: Literal["tool_confirm_done"]
    data: ToolConfirmDoneData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class QueuedEvent(TypedDict):
    """A message waits."""

    event: Literal["queued"]
    data: QueuedData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class SessionChangedEvent(TypedDict):
    """Anything else that is in the log."""

    event: Literal["session_changed"]
    data: SessionChangedData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class LagEvent(TypedDict):
    """From here on something is missing: come back with this cursor."""

    event: Literal["lag"]
    data: LagData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class RetractEvent(TypedDict):
    """The last bytes of text were taken back."""

    event: Literal["retract"]
    data: RetractData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class LaneEvent(TypedDict):
    """How a lane stands now."""

    event: Literal["lane"]
    data: LaneRow
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class SessionEvent(TypedDict):
    """A session is in memory, or is not any more, or was deleted."""

    event: Literal["session"]
    data: SessionNews
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class AskEvent(TypedDict):
    """A question, of whatever session."""

    event: Literal["ask"]
    data: AskRow
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class AskDoneEvent(TypedDict):
    """That question has ended."""

    event: Literal["ask_done"]
    data: AskDoneData
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class NodeEvent(TypedDict):
    """A companion came, went or said something."""

    event: Literal["node"]
    data: NodeNews
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class MetricsEvent(TypedDict):
    """Counters, now and then."""

    event: Literal["metrics"]
    data: MetricsResult
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


class LogEvent(TypedDict):
    """A line of the log."""

    event: Literal["log"]
    data: LogLine
    seq: NotRequired[int]
    cursor: NotRequired[EventCursor]
    sessionId: NotRequired[str]
    runId: NotRequired[str]
    at: NotRequired[int]


AnyEvent = Union[ContentEvent, ToolStartEvent, ToolEndEvent, ThinkingEvent, AttachmentEvent, ContextWarningEvent, RunStateEvent, DoneEvent, ErrorEvent, ToolConfirmEvent, ToolConfirmDoneEvent, QueuedEvent, SessionChangedEvent, LagEvent, RetractEvent, LaneEvent, SessionEvent, AskEvent, AskDoneEvent, NodeEvent, MetricsEvent, LogEvent]
"""An event; where it stands is said to subscribers."""

READS: FrozenSet[str] = frozenset(["queue.list", "commands.list", "agent.wait", "tools.list", "events.replay", "system.info", "system.capabilities", "system.presence", "system.sessionAnalytics", "system.contextUsage", "system.metrics", "system.latency", "system.nodes", "system.location", "sessions.list", "sessions.get", "sessions.search", "asks.list", "lanes.list", "lanes.history", "canvas.get", "canvas.list", "memory.get", "memory.list", "config.get", "config.schema", "usage.report", "usage.runs", "rpc.discover"])
"""Methods that change nothing."""
COMMANDS: FrozenSet[str] = frozenset(["/queue","/stop","/cancel","/context","/status","/model","/compact","/tools","/reset","/elevate","/pair","/subagents","/runtime","/backend","/help"])
"""First words of messages that are commands."""
LIMITS: Final[GatewayLimits] = {"burst":500,"maxArtifactBytes":1048576,"maxArtifacts":500,"maxAttachmentBytes":10485760,"maxAttachments":10,"maxFrameBytes":16777216,"maxInFlight":1024,"maxMessageBytes":1048576,"maxSubscriptions":64,"perSecond":100}
"""What a connection must not exceed."""


class AuthFailedError(GatewayError):
    """-5"""


class AuthRequiredError(GatewayError):
    """-4"""


class MethodNotFoundError(GatewayError):
    """-3"""


class InvalidRequestError(GatewayError):
    """-2"""


class ParseError(GatewayError):
    """-1"""


class SessionNotFoundError(GatewayError):
    """1"""


class ToolNotFoundError(GatewayError):
    """2"""


class AgentBusyError(GatewayError):
    """3"""


class RequestCancelledError(GatewayError):
    """4"""


class InternalError(GatewayError):
    """5"""


ERRORS: Dict[int, Type[GatewayError]] = {
    -5: AuthFailedError,
    -4: AuthRequiredError,
    -3: MethodNotFoundError,
    -2: InvalidRequestError,
    -1: ParseError,
    1: SessionNotFoundError,
    2: ToolNotFoundError,
    3: AgentBusyError,
    4: RequestCancelledError,
    5: InternalError,
}


class Unset:
    """Of a param that was left out; None is null."""


UNSET: Final = Unset()
Request = Callable[[str, Mapping[str, Any], Union[float, None]], Awaitable[Any]]


class Family:
    """Methods of one name."""

    def __init__(self, request: Request) -> None:
        self._request = request


class SessionsApi(Family):
    async def create(self, *, session_id: Union[str, Unset] = UNSET, title: Union[str, Unset] = UNSET, model_tier: Union[str, Unset] = UNSET, queue: Union[QueuePart, Unset] = UNSET, cwd: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> CreateResult:
        """Makes a session, or takes one that is there, and attaches this connection to it."""
        return cast(CreateResult, await self._request("sessions.create", {"sessionId": session_id, "title": title, "modelTier": model_tier, "queue": queue, "cwd": cwd}, timeout))

    async def delete(self, session_id: str, *, timeout: Union[float, None] = None) -> SuccessResult:
        """Removes a session and all that belongs to it."""
        return cast(SuccessResult, await self._request("sessions.delete", {"sessionId": session_id}, timeout))

    async def patch(self, session_id: str, *, title: Union[str, Unset] = UNSET, model_tier: Union[str, Unset] = UNSET, queue: Union[Union[QueuePart, None], Unset] = UNSET, elevation: Union[Union[ElevationPart, None], Unset] = UNSET, notify: Union[bool, Unset] = UNSET, timeout: Union[float, None] = None) -> PatchResult:
        """Changes what holds for a session."""
        return cast(PatchResult, await self._request("sessions.patch", {"sessionId": session_id, "title": title, "modelTier": model_tier, "queue": queue, "elevation": elevation, "notify": notify}, timeout))

    async def fork(self, *, session_id: Union[str, Unset] = UNSET, at_seq: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> ForkResult:
        """Copies a session, whole or up to a message."""
        return cast(ForkResult, await self._request("sessions.fork", {"sessionId": session_id, "atSeq": at_seq}, timeout))

    async def list(self, *, include_persisted: Union[bool, Unset] = UNSET, frontend: Union[str, Unset] = UNSET, limit: Union[int, Unset] = UNSET, offset: Union[int, Unset] = UNSET, query: Union[str, Unset] = UNSET, child_of: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> ListResult:
        """Sessions, the newest message first."""
        return cast(ListResult, await self._request("sessions.list", {"includePersisted": include_persisted, "frontend": frontend, "limit": limit, "offset": offset, "query": query, "childOf": child_of}, timeout))

    async def get(self, session_id: str, *, history_limit: Union[int, Unset] = UNSET, before: Union[int, Unset] = UNSET, include_tools: Union[bool, Unset] = UNSET, timeout: Union[float, None] = None) -> GetResult:
        """A session and its newest messages."""
        return cast(GetResult, await self._request("sessions.get", {"sessionId": session_id, "historyLimit": history_limit, "before": before, "includeTools": include_tools}, timeout))

    async def search(self, query: str, *, limit: Union[int, Unset] = UNSET, cursor: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> SearchResult:
        """Messages that have a text, of the newest sessions first."""
        return cast(SearchResult, await self._request("sessions.search", {"query": query, "limit": limit, "cursor": cursor}, timeout))


class AgentApi(Family):
    async def cancel(self, *, session_id: Union[str, Unset] = UNSET, request_id: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> CancelResult:
        """Stops what runs or waits."""
        return cast(CancelResult, await self._request("agent.cancel", {"sessionId": session_id, "requestId": request_id}, timeout))

    async def set_tool_use_callback(self, session_id: str, enabled: bool, *, timeout: Union[float, None] = None) -> SuccessResult:
        """Whether this connection is asked before tools run."""
        return cast(SuccessResult, await self._request("agent.setToolUseCallback", {"sessionId": session_id, "enabled": enabled}, timeout))

    async def confirm_tool(self, call_id: str, decision: DecisionWord, *, session_id: Union[str, Unset] = UNSET, ask_id: Union[str, Unset] = UNSET, reason: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> ConfirmResult:
        """Answers `tool_confirm`."""
        return cast(ConfirmResult, await self._request("agent.confirmTool", {"sessionId": session_id, "callId": call_id, "askId": ask_id, "decision": decision, "reason": reason}, timeout))

    async def wait(self, *, run_id: Union[str, Unset] = UNSET, idempotency_key: Union[str, Unset] = UNSET, session_id: Union[str, Unset] = UNSET, timeout_ms: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> WaitResult:
        """Waits for the end of a run."""
        return cast(WaitResult, await self._request("agent.wait", {"runId": run_id, "idempotencyKey": idempotency_key, "sessionId": session_id, "timeoutMs": timeout_ms}, timeout))


class QueueApi(Family):
    async def list(self, session_id: str, *, timeout: Union[float, None] = None) -> QueueResult:
        """What waits in a session."""
        return cast(QueueResult, await self._request("queue.list", {"sessionId": session_id}, timeout))

    async def remove(self, session_id: str, item_id: str, *, timeout: Union[float, None] = None) -> RemoveResult:
        """Takes back a message that waits."""
        return cast(RemoveResult, await self._request("queue.remove", {"sessionId": session_id, "itemId": item_id}, timeout))


class CommandsApi(Family):
    async def list(self, *, timeout: Union[float, None] = None) -> CommandsResult:
        """The slash commands."""
        return cast(CommandsResult, await self._request("commands.list", {}, timeout))


class ToolsApi(Family):
    async def list(self, *, session_id: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> ToolsResult:
        """Which tools there are."""
        return cast(ToolsResult, await self._request("tools.list", {"sessionId": session_id}, timeout))

    async def execute(self, tool: str, *, session_id: Union[str, Unset] = UNSET, args: Union[Dict[str, Any], Unset] = UNSET, timeout_ms: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> ExecuteResult:
        """Runs a tool by hand, beside the lane."""
        return cast(ExecuteResult, await self._request("tools.execute", {"sessionId": session_id, "tool": tool, "args": args, "timeoutMs": timeout_ms}, timeout))


class EventsApi(Family):
    async def replay(self, session_id: str, *, after_seq: Union[EventCursor, Unset] = UNSET, before_seq: Union[int, Unset] = UNSET, limit: Union[int, Unset] = UNSET, thinking: Union[bool, Unset] = UNSET, timeout: Union[float, None] = None) -> ReplayResult:
        """Stored events of a session, a page at a time."""
        return cast(ReplayResult, await self._request("events.replay", {"sessionId": session_id, "afterSeq": after_seq, "beforeSeq": before_seq, "limit": limit, "thinking": thinking}, timeout))


class SystemApi(Family):
    async def info(self, *, timeout: Union[float, None] = None) -> InfoResult:
        """What this gateway is."""
        return cast(InfoResult, await self._request("system.info", {}, timeout))

    async def capabilities(self, *, timeout: Union[float, None] = None) -> CapabilitiesResult:
        """What can be asked here."""
        return cast(CapabilitiesResult, await self._request("system.capabilities", {}, timeout))

    async def presence(self, *, channel: Union[str, Unset] = UNSET, status: Union[Online, Unset] = UNSET, limit: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> PresenceResult:
        """Who wrote, and when."""
        return cast(PresenceResult, await self._request("system.presence", {"channel": channel, "status": status, "limit": limit}, timeout))

    async def session_analytics(self, *, days: Union[int, Unset] = UNSET, top_limit: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> AnalyticsResult:
        """Who wrote how much, day by day."""
        return cast(AnalyticsResult, await self._request("system.sessionAnalytics", {"days": days, "topLimit": top_limit}, timeout))

    async def context_usage(self, *, session_id: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> ContextResult:
        """How full contexts are."""
        return cast(ContextResult, await self._request("system.contextUsage", {"sessionId": session_id}, timeout))

    async def metrics(self, *, timeout: Union[float, None] = None) -> MetricsResult:
        """Counters since the start."""
        return cast(MetricsResult, await self._request("system.metrics", {}, timeout))

    async def latency(self, *, window_minutes: Union[int, Unset] = UNSET, bucket_seconds: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> LatencyResult:
        """How long models take."""
        return cast(LatencyResult, await self._request("system.latency", {"windowMinutes": window_minutes, "bucketSeconds": bucket_seconds}, timeout))

    async def connections(self, *, timeout: Union[float, None] = None) -> ConnectionsResult:
        """Who is connected."""
        return cast(ConnectionsResult, await self._request("system.connections", {}, timeout))

    async def close_connection(self, connection_id: str, *, timeout: Union[float, None] = None) -> CloseConnectionResult:
        """Ends a connection; what runs goes on."""
        return cast(CloseConnectionResult, await self._request("system.closeConnection", {"connectionId": connection_id}, timeout))

    async def nodes(self, *, timeout: Union[float, None] = None) -> NodesResult:
        """Companions that are here."""
        return cast(NodesResult, await self._request("system.nodes", {}, timeout))

    async def location(self, *, timeout: Union[float, None] = None) -> LocationsResult:
        """Where companions are."""
        return cast(LocationsResult, await self._request("system.location", {}, timeout))


class AuthApi(Family):
    async def attempts(self, *, limit: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> AttemptsResult:
        """Who showed a wrong credential, and which browsers logged in."""
        return cast(AttemptsResult, await self._request("auth.attempts", {"limit": limit}, timeout))


class AsksApi(Family):
    async def list(self, *, session_id: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> AsksResult:
        """Open questions of all sessions, oldest first."""
        return cast(AsksResult, await self._request("asks.list", {"sessionId": session_id}, timeout))


class LanesApi(Family):
    async def list(self, *, limit: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> LanesResult:
        """What every lane does."""
        return cast(LanesResult, await self._request("lanes.list", {"limit": limit}, timeout))

    async def history(self, *, window_minutes: Union[int, Unset] = UNSET, limit: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> LaneHistoryResult:
        """Runs that were, and those that are."""
        return cast(LaneHistoryResult, await self._request("lanes.history", {"windowMinutes": window_minutes, "limit": limit}, timeout))


class CanvasApi(Family):
    async def put(self, artifact_id: str, type: str, content: Any, *, session_id: Union[str, Unset] = UNSET, title: Union[str, Unset] = UNSET, metadata: Union[Dict[str, Any], Unset] = UNSET, timeout: Union[float, None] = None) -> CanvasPutResult:
        """Puts an artifact there whole."""
        return cast(CanvasPutResult, await self._request("canvas.put", {"sessionId": session_id, "artifactId": artifact_id, "type": type, "title": title, "content": content, "metadata": metadata}, timeout))

    async def get(self, artifact_id: str, *, session_id: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> CanvasGetResult:
        """One artifact."""
        return cast(CanvasGetResult, await self._request("canvas.get", {"sessionId": session_id, "artifactId": artifact_id}, timeout))

    async def list(self, *, session_id: Union[str, Unset] = UNSET, limit: Union[int, Unset] = UNSET, include_content: Union[bool, Unset] = UNSET, timeout: Union[float, None] = None) -> CanvasListResult:
        """Artifacts, newest first."""
        return cast(CanvasListResult, await self._request("canvas.list", {"sessionId": session_id, "limit": limit, "includeContent": include_content}, timeout))

    async def delete(self, artifact_id: str, *, session_id: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> CanvasDeleteResult:
        """Takes an artifact away."""
        return cast(CanvasDeleteResult, await self._request("canvas.delete", {"sessionId": session_id, "artifactId": artifact_id}, timeout))

    async def clear(self, *, session_id: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> CanvasClearResult:
        """Takes all artifacts of a session away."""
        return cast(CanvasClearResult, await self._request("canvas.clear", {"sessionId": session_id}, timeout))


class MemoryApi(Family):
    async def get(self, *, session_id: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> MemoryGetResult:
        """The checkpoint of a session."""
        return cast(MemoryGetResult, await self._request("memory.get", {"sessionId": session_id}, timeout))

    async def list(self, *, limit: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> MemoryListResult:
        """Checkpoints of all sessions, newest first."""
        return cast(MemoryListResult, await self._request("memory.list", {"limit": limit}, timeout))


class NodeCapabilitiesApi(Family):
    async def get(self, *, timeout: Union[float, None] = None) -> NodeCapabilitiesResult:
        """What was agreed."""
        return cast(NodeCapabilitiesResult, await self._request("node.capabilities.get", {}, timeout))


class NodeLocationApi(Family):
    async def set(self, latitude: float, longitude: float, *, accuracy_meters: Union[float, Unset] = UNSET, source: Union[str, Unset] = UNSET, captured_at: Union[int, Unset] = UNSET, received_at: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> SetLocationResult:
        """Where the companion is."""
        return cast(SetLocationResult, await self._request("node.location.set", {"latitude": latitude, "longitude": longitude, "accuracyMeters": accuracy_meters, "source": source, "capturedAt": captured_at, "receivedAt": received_at}, timeout))

    async def get(self, *, timeout: Union[float, None] = None) -> LocationResult:
        """Where it said it is."""
        return cast(LocationResult, await self._request("node.location.get", {}, timeout))


class NodeStatusApi(Family):
    async def set(self, *, platform: Union[str, Unset] = UNSET, app_version: Union[str, Unset] = UNSET, device_name: Union[str, Unset] = UNSET, status_text: Union[str, Unset] = UNSET, battery_pct: Union[float, Unset] = UNSET, power_source: Union[PowerSource, Unset] = UNSET, updated_at: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> SetStatusResult:
        """How the companion does."""
        return cast(SetStatusResult, await self._request("node.status.set", {"platform": platform, "appVersion": app_version, "deviceName": device_name, "statusText": status_text, "batteryPct": battery_pct, "powerSource": power_source, "updatedAt": updated_at}, timeout))


class NodePush_tokenApi(Family):
    async def set(self, provider: PushProvider, token: str, *, timeout: Union[float, None] = None) -> SetPushResult:
        """How it can be woken."""
        return cast(SetPushResult, await self._request("node.push_token.set", {"provider": provider, "token": token}, timeout))


class NodeApi(Family):
    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.capabilities = NodeCapabilitiesApi(request)
        self.location = NodeLocationApi(request)
        self.status = NodeStatusApi(request)
        self.push_token = NodePush_tokenApi(request)

    async def register(self, node_id: str, role: str, protocol_version: int, capabilities: List[str], *, timeout: Union[float, None] = None) -> RegisterResult:
        """A companion is here."""
        return cast(RegisterResult, await self._request("node.register", {"nodeId": node_id, "role": role, "protocolVersion": protocol_version, "capabilities": capabilities}, timeout))


class ConfigApi(Family):
    async def get(self, *, path: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> Any:
        """Settings in effect, without secrets."""
        return cast(Any, await self._request("config.get", {"path": path}, timeout))

    async def schema(self, *, timeout: Union[float, None] = None) -> Any:
        """What can be set, as a JSON Schema."""
        return cast(Any, await self._request("config.schema", {}, timeout))

    async def set(self, path: str, value: Any, *, dry_run: Union[bool, Unset] = UNSET, timeout: Union[float, None] = None) -> ConfigSetResult:
        """Writes a setting into the user's file and takes it over."""
        return cast(ConfigSetResult, await self._request("config.set", {"path": path, "value": value, "dryRun": dry_run}, timeout))

    async def reload(self, *, dry_run: Union[bool, Unset] = UNSET, timeout: Union[float, None] = None) -> ReloadResult:
        """Reads the settings again."""
        return cast(ReloadResult, await self._request("config.reload", {"dryRun": dry_run}, timeout))


class PairingApi(Family):
    async def generate(self, *, channel: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> GenerateResult:
        """A code for an unknown sender."""
        return cast(GenerateResult, await self._request("pairing.generate", {"channel": channel}, timeout))

    async def list(self, *, timeout: Union[float, None] = None) -> PairingListResult:
        """Codes, and who was let in."""
        return cast(PairingListResult, await self._request("pairing.list", {}, timeout))

    async def revoke(self, *, code: Union[str, Unset] = UNSET, channel: Union[str, Unset] = UNSET, sender_id: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> RevokeResult:
        """Takes a code or a sender back."""
        return cast(RevokeResult, await self._request("pairing.revoke", {"code": code, "channel": channel, "senderId": sender_id}, timeout))


class UsageApi(Family):
    async def report(self, *, from_: Union[str, Unset] = UNSET, to: Union[str, Unset] = UNSET, group_by: Union[GroupBy, Unset] = UNSET, session_id: Union[str, Unset] = UNSET, timeout: Union[float, None] = None) -> UsageResult:
        """What was used."""
        return cast(UsageResult, await self._request("usage.report", {"from": from_, "to": to, "groupBy": group_by, "sessionId": session_id}, timeout))

    async def runs(self, *, from_: Union[str, Unset] = UNSET, to: Union[str, Unset] = UNSET, session_id: Union[str, Unset] = UNSET, model: Union[str, Unset] = UNSET, limit: Union[int, Unset] = UNSET, timeout: Union[float, None] = None) -> UsageRunsResult:
        """The runs behind a sum, the dearest first."""
        return cast(UsageRunsResult, await self._request("usage.runs", {"from": from_, "to": to, "sessionId": session_id, "model": model, "limit": limit}, timeout))


class AuditApi(Family):
    async def query(self, *, session_id: Union[str, Unset] = UNSET, by: Union[str, Unset] = UNSET, before: Union[int, Unset] = UNSET, limit: Union[int, Unset] = UNSET, verify: Union[bool, Unset] = UNSET, timeout: Union[float, None] = None) -> AuditResult:
        """Who did what."""
        return cast(AuditResult, await self._request("audit.query", {"sessionId": session_id, "by": by, "before": before, "limit": limit, "verify": verify}, timeout))


class RpcApi(Family):
    async def discover(self, *, timeout: Union[float, None] = None) -> Dict[str, Any]:
        """This document."""
        return cast(Dict[str, Any], await self._request("rpc.discover", {}, timeout))


class Api:
    """Every method with params and an answer."""

    def __init__(self, request: Request) -> None:
        self.sessions = SessionsApi(request)
        self.agent = AgentApi(request)
        self.queue = QueueApi(request)
        self.commands = CommandsApi(request)
        self.tools = ToolsApi(request)
        self.events = EventsApi(request)
        self.system = SystemApi(request)
        self.auth = AuthApi(request)
        self.asks = AsksApi(request)
        self.lanes = LanesApi(request)
        self.canvas = CanvasApi(request)
        self.memory = MemoryApi(request)
        self.node = NodeApi(request)
        self.config = ConfigApi(request)
        self.pairing = PairingApi(request)
        self.usage = UsageApi(request)
        self.audit = AuditApi(request)
        self.rpc = RpcApi(request)
