import type { ChangePage, Conversation, ConversationId, ConversationPage, DigestPage, SyncPage } from "../model.ts";
import {
  type Bodies,
  type CallFailure,
  isTemporary,
  type SyncCall,
  type SyncResponse,
  type SyncStep,
} from "./events.ts";
import { applyChange, breakOff, loadPrivateState, takePrivate } from "./frames.ts";
import { deliverSoon } from "./session.ts";
import { newStream, type Synchronizer } from "./synchronizer.ts";

// What the server responds over HTTP.

const mostEmptyPages = 5;

export function takeResponse(
  sync: Synchronizer,
  id: number,
  response: SyncResponse,
  now: number,
  step: SyncStep,
): void {
  const call = sync.requests.finish(id);
  if (!call) return;
  if ("failure" in response) return takeFailure(sync, response.failure, call, now, step);
  sync.requests.succeeded();
  switch (call.call) {
    case "conversations":
      return takeList(sync, response.body as ConversationPage, call.before === undefined, now, step);
    case "conversation":
      return takeAsked(sync, response.body as Conversation, now, step);
    case "changes":
      return takeChanges(sync, response.body as ChangePage, call.conversation, call.after, now, step);
    case "history": {
      const { conversation, place } = call;
      return void step.writes.push({ write: "history", conversation, page: response.body as Bodies["history"], place });
    }
    case "members":
      return takeMembers(sync, response.body as Bodies["members"], call, step);
    case "revisions": {
      const { revisions } = response.body as Bodies["revisions"];
      const { conversation, message } = call;
      return void step.writes.push({ write: "revisions", conversation, message, revisions });
    }
    case "blocks": {
      const { users } = response.body as Bodies["blocks"];
      return void step.writes.push({ write: "blocks", users: users.map(({ userId }) => userId) });
    }
    case "requests": {
      // What the user is in is no request any more.
      const { requests } = response.body as Bodies["requests"];
      step.writes.push({
        write: "requests",
        requests: requests.filter(({ conversation }) => !sync.streams.has(conversation.id)),
      });
      // Who was nobody's business before can be read now.
      return sync.profiles.allChanged(now);
    }
    case "settings":
      return void step.writes.push({ write: "settings", settings: response.body as Bodies["settings"] });
    case "sync":
      return takeSync(sync, response.body as SyncPage, now, step);
    case "profiles": {
      const { profiles } = response.body as Bodies["profiles"];
      return profiles.length ? void step.writes.push({ write: "profiles", profiles }) : undefined;
    }
    case "digest":
      return takeDigest(sync, response.body as DigestPage, call.conversation, step);
  }
}

function takeFailure(sync: Synchronizer, failure: CallFailure, call: SyncCall, now: number, step: SyncStep): void {
  if (failure.problem?.status === 401) {
    sync.requests.awaitsToken = true;
    sync.requests.ask(call, true);
    step.token = "fresh";
  } else if (isTemporary(failure)) {
    sync.requests.repeat(call, now, failure.retryAfter);
  } else {
    takeRefusal(sync, call, step);
  }
}

/** The user does not see the conversation any more, or the call makes no sense to the server. */
function takeRefusal(sync: Synchronizer, call: SyncCall, step: SyncStep): void {
  if (call.call === "conversation" || call.call === "changes") {
    sync.forget(call.conversation);
    step.writes.push({ write: "discard", conversation: call.conversation });
  } else if (call.call === "requests") {
    // A server without requests.
    step.writes.push({ write: "requests", requests: [] });
  } else if (call.call === "conversations") {
    sync.listed = undefined;
  } else if (call.call === "sync") {
    sync.isCatchingUp = false;
    sync.listed = undefined;
  }
}

// Conversations.

function takeAsked(sync: Synchronizer, conversation: Conversation, now: number, step: SyncStep): void {
  const { id, request, windows } = conversation;
  const isFollowed = sync.streams.has(id);
  if (request) {
    // Of a request there is no stream.
    if (isFollowed) {
      sync.forget(id);
      step.writes.push({ write: "discard", conversation: id });
    }
    sync.unknown.delete(id);
    sync.sinceAsked.delete(id);
    step.writes.push({ write: "conversation", conversation, follows: false });
  } else if (windows.at(-1)?.to !== undefined && !isFollowed && !sync.unknown.has(id)) {
    // A request that was read again, and was declined meanwhile.
    step.writes.push({ write: "discard", conversation: id });
  } else takeFollowed(sync, conversation, now, step);
}

function takeFollowed(sync: Synchronizer, conversation: Conversation, now: number, step: SyncStep): void {
  const { id, lastSeq, deliveredSeq } = conversation;
  sync.listed?.add(id);
  const wasUnknown = sync.unknown.delete(id);
  const stream = sync.streams.get(id);
  step.writes.push({ write: "conversation", conversation, follows: wasUnknown || !stream });
  for (const change of sync.sinceAsked.get(id) ?? []) {
    if (change.seq > lastSeq) step.writes.push({ write: "change", change, movesCursor: false });
  }
  sync.sinceAsked.delete(id);
  if (stream) {
    stream.deliveredSeq = Math.max(stream.deliveredSeq, deliveredSeq);
  } else {
    sync.add(id, newStream({ cursor: lastSeq, deliveredSeq }), false);
    if (lastSeq > deliveredSeq) deliverSoon(sync, id, now);
  }
}

/** Takes a conversation of the list. If the greeting did not name it, the session does not send what it missed. */
export function takeListed(sync: Synchronizer, conversation: Conversation, now: number, step: SyncStep): void {
  // The page may have been read before the user took the conversation out.
  if (sync.removed.has(conversation.id)) return;
  if (!sync.greeted.has(conversation.id)) catchUpWith(sync, conversation);
  takeFollowed(sync, conversation, now, step);
}

function catchUpWith(sync: Synchronizer, { id, lastSeq }: Conversation): void {
  const stream = sync.streams.get(id);
  if (stream && stream.cursor < lastSeq) sync.page(id, lastSeq);
}

/**
 * A conversation that moves up between two pages is on neither. It is then at the top: what took several pages is loaded
 * again from there, down to what has not moved. One page is a state that the list had as a whole.
 */
function takeList(sync: Synchronizer, page: ConversationPage, isFirst: boolean, now: number, step: SyncStep): void {
  if (!sync.listed) return;
  for (const conversation of page.conversations) takeListed(sync, conversation, now, step);
  if (isFirst) sync.listTop = page.conversations[0]?.lastActivityAt;
  const { earlierListTop } = sync;
  // A conversation that stands where it stood when the loading began before this time.
  const hasUnmoved = earlierListTop !== undefined &&
    page.conversations.some(({ lastActivityAt }) => lastActivityAt < earlierListTop);
  if (page.nextCursor !== undefined && !hasUnmoved) {
    sync.requests.ask({ call: "conversations", before: page.nextCursor });
  } else if (isFirst) {
    sync.isListAtEnd = true;
  } else {
    sync.earlierListTop = sync.listTop;
    sync.requests.ask({ call: "conversations" });
  }
}

// Changes.

function takeChanges(
  sync: Synchronizer,
  page: ChangePage,
  id: ConversationId,
  after: number,
  now: number,
  step: SyncStep,
): void {
  const stream = sync.streams.get(id);
  if (!stream?.isPaging || after > stream.cursor) return;
  for (const change of page.changes) if (change.seq > stream.cursor) applyChange(sync, change, now, step);
  const { cursor } = stream;
  if (cursor > after) stream.emptyPages = 0;
  if (page.more && cursor > after) {
    sync.requests.ask({ call: "changes", conversation: id, after: cursor });
  } else if (!page.more && page.lastSeq > cursor) {
    // Nothing that the user may see: the position is passed.
    stream.cursor = page.lastSeq;
    stream.isPaging = false;
    step.writes.push({ write: "passed", conversation: id, through: page.lastSeq });
  } else if (cursor >= stream.target) {
    stream.isPaging = false;
  } else if (++stream.emptyPages <= mostEmptyPages) {
    // The session has told of a change that was committed after the page was read.
    sync.requests.ask({ call: "changes", conversation: id, after: cursor });
  } else {
    stream.isPaging = false;
    breakOff(sync, now, step);
  }
}

// The rest.

type MembersCall = Extract<SyncCall, { call: "members" }>;

function takeMembers(sync: Synchronizer, page: Bodies["members"], call: MembersCall, step: SyncStep): void {
  const { conversation, after } = call;
  step.writes.push({ write: "members", conversation, members: page.members, isFirstPage: after === undefined });
  if (page.nextCursor !== undefined) sync.requests.ask({ call: "members", conversation, after: page.nextCursor });
}

function takeSync(sync: Synchronizer, page: SyncPage, now: number, step: SyncStep): void {
  sync.syncCursor = page.cursor;
  if (page.reload) reloadPrivateState(sync, step);
  for (const conversation of page.conversations) {
    catchUpWith(sync, conversation);
    takeFollowed(sync, conversation, now, step);
  }
  if (!page.reload) { for (const change of page.private) takePrivate(sync, change, now, step); }
  step.writes.push({ write: "syncCursor", cursor: page.cursor });
  if (page.more) sync.requests.ask({ call: "sync", since: page.cursor });
  else if (sync.listed) sync.isListAtEnd = true;
}

/**
 * The private changes since the cursor are not kept any more. This response and those that follow bring every conversation.
 * Where the private stream stands only a session tells, which loads its state once more.
 */
function reloadPrivateState(sync: Synchronizer, step: SyncStep): void {
  sync.useq = undefined;
  step.writes.push({ write: "privateStream", useq: null });
  loadPrivateState(sync, step);
  sync.beginList();
}

function takeDigest(sync: Synchronizer, digest: DigestPage, conversation: ConversationId, step: SyncStep): void {
  step.notices.push({ notice: "digest", conversation, digest });
  const last = digest.pages.at(-1);
  if (digest.more && last) sync.requests.ask({ call: "digest", conversation, after: last.toSeq });
}
