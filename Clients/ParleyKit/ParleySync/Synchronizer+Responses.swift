import Models
import ParleyStorage

// What the server answers over HTTP.

extension Synchronizer {
    mutating func take(_ response: SyncResponse, for id: Int, _ now: Duration, _ step: inout SyncStep) {
        guard let call = requests.finish(id) else { return }
        if case .failure(let failure) = response { return take(failure, of: call, now, &step) }
        requests.succeeded()
        switch (call, response) {
        case (.conversations(let before), .conversations(let page)): take(page, isFirst: before == nil, now, &step)
        case (.conversation, .conversation(let conversation)): takeAsked(conversation, now, &step)
        case (.changes(let id, let after), .changes(let page)): take(page, of: id, after: after, now, &step)
        case (.history(let id, let place), .history(let page)):
            step.writes.append(.history(id, page, place: place))
        case (.members(let id, let after), .members(let page)): take(page, of: id, after: after, &step)
        case (.revisions(let id, let message), .revisions(let list)):
            step.writes.append(.revisions(id, message, list.revisions))
        case (.settings, .settings(let settings)): step.writes.append(.settings(settings))
        case (.blocks, .blocks(let list)): step.writes.append(.blocks(list.users.map(\.userId), useq: nil))
        case (.requests, .requests(let list)): take(list, now, &step)
        case (.profiles, .profiles(let list)):
            if !list.profiles.isEmpty { step.writes.append(.profiles(list.profiles)) }
        case (.sync, .sync(let page)): take(page, now, &step)
        case (.digest(let id, _), .digest(let page)): take(page, of: id, &step)
        default: preconditionFailure("a response must be of its call's kind")
        }
    }

    private mutating func take(
        _ failure: CallFailure, of call: SyncCall, _ now: Duration, _ step: inout SyncStep
    ) {
        if failure.isUnauthenticated {
            requests.awaitToken()
            requests.ask(call, first: true)
            step.token = .fresh
        } else if failure.isTemporary {
            requests.repeat(call, at: now, atLeast: failure.retryAfter, using: &random)
        } else {
            refused(call, &step)
        }
    }

    /// The user does not see the conversation any more, or the call makes no sense to the server.
    private mutating func refused(_ call: SyncCall, _ step: inout SyncStep) {
        switch call {
        case .conversation(let id), .changes(let id, _):
            forget(id)
            step.writes.append(.discard(id))
        case .conversations: listed = nil
        case .sync:
            isCatchingUp = false
            listed = nil
        // A server without requests.
        case .requests: step.writes.append(.requests([]))
        case .history, .members, .revisions, .settings, .blocks, .profiles, .digest: break
        }
    }

    // MARK: Conversations

    private mutating func takeAsked(_ conversation: Conversation, _ now: Duration, _ step: inout SyncStep) {
        let id = conversation.id
        if conversation.request == true {
            // Of a request there is no stream.
            if streams[id] != nil {
                forget(id)
                step.writes.append(.discard(id))
            }
            unknown.remove(id)
            sinceAsked[id] = nil
            step.writes.append(.conversation(conversation, follows: false))
        } else if !conversation.isMember, streams[id] == nil, !unknown.contains(id) {
            // A request that was read again, and was declined meanwhile.
            step.writes.append(.discard(id))
        } else {
            takeFollowed(conversation, now, &step)
        }
    }

    /// What the user is in is no request any more.
    private mutating func take(_ list: MessageRequestList, _ now: Duration, _ step: inout SyncStep) {
        step.writes.append(.requests(list.requests.filter { streams[$0.conversation.id] == nil }))
        // Who was nobody's business before can be read now.
        profiles.allChanged(at: now)
    }

    mutating func takeFollowed(_ conversation: Conversation, _ now: Duration, _ step: inout SyncStep) {
        let id = conversation.id
        listed?.insert(id)
        let isAwaited = unknown.remove(id) != nil || streams[id] == nil
        step.writes.append(.conversation(conversation, follows: isAwaited))
        for change in sinceAsked.removeValue(forKey: id) ?? [] where change.seq > conversation.lastSeq {
            step.writes.append(.change(change, movesCursor: false))
        }
        guard let stream = streams[id] else {
            let stream = Stream(cursor: conversation.lastSeq, deliveredSeq: conversation.deliveredSeq)
            add(id, stream, isLatest: false)
            if conversation.lastSeq > conversation.deliveredSeq { deliverSoon(id, now) }
            return
        }
        streams[id]?.deliveredSeq = max(stream.deliveredSeq, conversation.deliveredSeq)
    }

    /// Takes a conversation of the list. If the greeting did not name it, the session does not send what it missed.
    mutating func takeListed(_ conversation: Conversation, _ now: Duration, _ step: inout SyncStep) {
        // The page may have been read before the user took the conversation out.
        guard !removed.contains(conversation.id) else { return }
        if !greeted.contains(conversation.id) { catchUp(conversation) }
        takeFollowed(conversation, now, &step)
    }

    private mutating func catchUp(_ conversation: Conversation) {
        guard let stream = streams[conversation.id], stream.cursor < conversation.lastSeq else { return }
        page(conversation.id, to: conversation.lastSeq)
    }

    mutating func beginList() {
        listed = []
        earlierListTop = nil
        isListAtEnd = false
        // Pages of a loading before do not count.
        requests.cancel { if case .conversations = $0 { true } else { false } }
    }

    /// A conversation that moves up between two pages is on neither. It is then at the top: what took several pages is
    /// loaded again from there, down to what has not moved. One page is a state that the list had as a whole.
    private mutating func take(_ page: ConversationPage, isFirst: Bool, _ now: Duration, _ step: inout SyncStep) {
        guard listed != nil else { return }
        for conversation in page.conversations { takeListed(conversation, now, &step) }
        if isFirst { listTop = page.conversations.first?.lastActivityAt }
        if let cursor = page.nextCursor, !page.conversations.contains(where: { hasNotMoved($0) }) {
            requests.ask(.conversations(before: cursor))
        } else if isFirst {
            isListAtEnd = true
        } else {
            earlierListTop = listTop
            requests.ask(.conversations(before: nil))
        }
    }

    /// Whether a conversation stands where it stood when the loading began before this time.
    private func hasNotMoved(_ conversation: Conversation) -> Bool {
        earlierListTop.map { conversation.lastActivityAt < $0 } ?? false
    }

    /// Conversations that the list did not bring are not in it any more. Of one that is new since the server is being asked.
    mutating func finishList(_ step: inout SyncStep) {
        guard let brought = listed, isListAtEnd else { return }
        for id in order where !brought.contains(id) && !unknown.contains(id) {
            forget(id)
            step.writes.append(.discard(id))
        }
        listed = nil
        isListAtEnd = false
        isListComplete = true
        step.writes.append(.listComplete(true))
    }

    // MARK: Changes

    private mutating func take(
        _ page: ChangePage, of id: ConversationID, after: Int64, _ now: Duration, _ step: inout SyncStep
    ) {
        guard let stream = streams[id], stream.isPaging, after <= stream.cursor else { return }
        for change in page.changes where change.seq > streams[id]!.cursor { apply(change, now, &step) }
        let cursor = streams[id]!.cursor
        if cursor > after { streams[id]!.emptyPages = 0 }
        if page.more, cursor > after {
            requests.ask(.changes(id, after: cursor))
        } else if !page.more, page.lastSeq > cursor {
            // Nothing that the user may see: the position is passed.
            streams[id]!.cursor = page.lastSeq
            streams[id]!.isPaging = false
            step.writes.append(.passed(id, through: page.lastSeq))
        } else if cursor < stream.target {
            askAgain(for: id, now, &step)
        } else {
            streams[id]!.isPaging = false
        }
    }

    /// The session has told of a change that was committed after the page was read.
    private mutating func askAgain(for id: ConversationID, _ now: Duration, _ step: inout SyncStep) {
        streams[id]!.emptyPages += 1
        if streams[id]!.emptyPages <= Self.emptyPages {
            requests.ask(.changes(id, after: streams[id]!.cursor))
        } else {
            // The session and the history contradict each other. A new session begins at the cursor.
            streams[id]!.isPaging = false
            step.connection = .close
            closed(now, &step)
        }
    }

    // MARK: The rest

    private mutating func take(
        _ page: MemberPage, of id: ConversationID, after: UserID?, _ step: inout SyncStep
    ) {
        step.writes.append(.members(id, page.members, isFirstPage: after == nil))
        if let next = page.nextCursor { requests.ask(.members(id, after: next)) }
    }

    private mutating func take(_ page: SyncPage, _ now: Duration, _ step: inout SyncStep) {
        syncCursor = page.cursor
        if page.reload { reloadPrivateState(&step) }
        for conversation in page.conversations {
            catchUp(conversation)
            takeFollowed(conversation, now, &step)
        }
        if !page.reload { for change in page.private { take(change, now, &step) } }
        step.writes.append(.syncCursor(page.cursor))
        if page.more {
            requests.ask(.sync(since: page.cursor))
        } else if listed != nil {
            isListAtEnd = true
        }
    }

    /// The private changes since the cursor are not kept any more. This response and those that follow bring every
    /// conversation. Where the private stream stands only a session tells, which loads its state once more.
    private mutating func reloadPrivateState(_ step: inout SyncStep) {
        useq = nil
        step.writes.append(.privateStream(nil))
        loadPrivateState(&step)
        beginList()
    }

    private mutating func take(_ page: HistoryDigest, of id: ConversationID, _ step: inout SyncStep) {
        step.notices.append(.digest(id, page))
        if page.more, let last = page.pages.last { requests.ask(.digest(id, after: last.toSeq)) }
    }
}
