import Models
import ParleyStorage

// What the server sends on the WebSocket.

extension Synchronizer {
    mutating func take(_ frame: FrameFromServer, _ now: Duration, _ step: inout SyncStep) {
        switch frame {
        case .welcome(let welcome): take(welcome, now, &step)
        case .bye(let bye): farewell = bye
        default: if phase == .live { takeLive(frame, now, &step) }
        }
    }

    private mutating func takeLive(_ frame: FrameFromServer, _ now: Duration, _ step: inout SyncStep) {
        switch frame {
        case .change(let change): take(change, now, &step)
        case .private(let change): take(change, now, &step)
        case .status(let status): take(status, &step)
        case .typing(let typing): step.notices.append(.typing(typing))
        case .presence(let presence): step.notices.append(.presence(presence))
        case .profile(let profile): profiles.changed(profile.userId, at: now)
        case .reload(let reload):
            // One's own may be among what was missed.
            profiles.changed(userId, at: now)
            take(reload, &step)
        case .reset(let id): reset(id, now, &step)
        case .tokenExpiring: step.token = .fresh
        case .pong(let id): if let id { confirmDelivered(id, &step) }
        case .welcome, .bye, .unknown: break
        }
    }

    // MARK: Changes

    private mutating func take(_ change: Change, _ now: Duration, _ step: inout SyncStep) {
        let id = change.conversationId
        guard !removed.contains(id) else { return }
        guard let stream = streams[id] else { return follow(change, now, &step) }
        if stream.isPaging {
            streams[id]?.target = max(stream.target, change.seq)
        } else if change.seq <= stream.cursor {
            // The conversation was loaded during the session, at a later position than where the session began.
            step.writes.append(.change(change, movesCursor: false))
        } else if change.seq == stream.cursor + 1 {
            apply(change, now, &step)
        } else {
            // Between two stays there are changes that the user must not see. Should one be missing for any other
            // reason, the pages bring it.
            page(id, to: change.seq)
        }
    }

    private mutating func follow(_ change: Change, _ now: Duration, _ step: inout SyncStep) {
        let id = change.conversationId
        add(id, Stream(cursor: change.seq - 1), isLatest: true)
        askAbout(id)
        apply(change, now, &step)
    }

    mutating func apply(_ change: Change, _ now: Duration, _ step: inout SyncStep) {
        streams[change.conversationId]?.cursor = change.seq
        step.writes.append(.change(change, movesCursor: true))
        if unknown.contains(change.conversationId) { sinceAsked[change.conversationId, default: []].append(change) }
        deliverSoon(change.conversationId, now)
    }

    /// Loads the changes after the cursor over HTTP, until they reach `target`.
    mutating func page(_ id: ConversationID, to target: Int64) {
        guard var stream = streams[id] else { return }
        stream.target = max(stream.target, target)
        stream.isPaging = true
        stream.emptyPages = 0
        streams[id] = stream
        requests.ask(.changes(id, after: stream.cursor))
    }

    mutating func askAbout(_ id: ConversationID) {
        unknown.insert(id)
        requests.ask(.conversation(id))
    }

    // MARK: The private stream

    mutating func take(_ change: PrivateChange, _ now: Duration, _ step: inout SyncStep) {
        guard change.useq > useq ?? 0 else { return }
        if change.useq == (useq ?? 0) + 1 { useq = change.useq }
        step.writes.append(.privateChange(change))
        if change.kind == .profileChanged { profiles.changed(userId, at: now) }
        guard let id = change.conversationId else { return }
        switch change.kind {
        case .known(.conversationJoined):
            joined(id, lastSeq: change.lastSeq ?? 0)
            profiles.allChanged(at: now)
        case .known(.conversationRemoved):
            forget(id)
            removed.insert(id)
        case .known(.request), .known(.conversationLeft):
            // Of one that the user leaves a change tells, too; of a request that was taken back nothing else does.
            requests.askAgainForRequests()
        case .known(.blocked):
            requests.askAgainForRequests()
            // A window of the direct conversation ended or began, which no change tells.
            requests.askAgainForConversations(of: id)
            if change.blocked == false {
                removed.remove(id)
                requests.askAgainForHistory(of: id)
            }
            if !removed.contains(id) { askAbout(id) }
        default:
            // The page of the list that brings it may have been read before this.
            if listed != nil, streams[id] == nil, !removed.contains(id) { askAbout(id) }
        }
    }

    private mutating func joined(_ id: ConversationID, lastSeq: Int64) {
        removed.remove(id)
        listed?.insert(id)
        if streams[id] == nil { add(id, Stream(cursor: lastSeq), isLatest: true) }
        requests.askAgainForHistory(of: id)
        // A request that is shown may have been read again just before it was accepted.
        requests.askAgainForConversations(of: id)
        requests.askAgainForRequests()
        askAbout(id)
    }

    /// Follows a conversation from now on.
    mutating func add(_ id: ConversationID, _ stream: Stream, isLatest: Bool) {
        streams[id] = stream
        greeted.insert(id)
        order.insert(id, at: isLatest ? 0 : order.count)
    }

    mutating func forget(_ id: ConversationID) {
        streams[id] = nil
        unknown.remove(id)
        sinceAsked[id] = nil
        undelivered.remove(id)
        greeted.remove(id)
        order.removeAll { $0 == id }
        requests.cancel { $0.conversation == id }
    }

    /// What happened on the private stream is not known: everything that it tells about is loaded.
    mutating func loadPrivateState(_ step: inout SyncStep) {
        isListComplete = false
        step.writes += [.listComplete(false), .outdated(nil, 1...Int64.max)]
        requests.askAgainForHistory()
        requests.askAgainForConversations()
        requests.askAgainForRequests()
        requests.ask(.settings)
        requests.ask(.blocks)
    }

    // MARK: Receipts, gaps, ends

    private mutating func take(_ status: FrameFromServer.Status, _ step: inout SyncStep) {
        guard let stream = streams[status.conversationId] else { return }
        streams[status.conversationId]?.statusVersion = max(stream.statusVersion, status.statusVersion)
        step.writes.append(.status(status))
    }

    private mutating func take(_ reload: FrameFromServer.Reload, _ step: inout SyncStep) {
        if let id = reload.conversationId, let lastSeq = reload.lastSeq { page(id, to: lastSeq) }
        guard let last = reload.useq else { return }
        useq = last
        step.writes.append(.privateStream(last))
        loadPrivateState(&step)
        beginList()
        requests.ask(.conversations(before: nil))
    }

    private mutating func reset(_ id: ConversationID?, _ now: Duration, _ step: inout SyncStep) {
        if let id {
            forget(id)
            step.writes.append(.discard(id))
            askAbout(id)
        } else if !hasDiscarded, let welcome {
            discardAll(&step)
            // What it said of the conversations may be old by now: the list is loaded again.
            var beginning = welcome
            beginning.conversations = []
            beginning.blocked = nil
            beginning.more = true
            begin(beginning, now, &step)
        }
    }

    mutating func discardAll(_ step: inout SyncStep) {
        hasDiscarded = true
        logId = nil
        useq = nil
        syncCursor = nil
        isListComplete = false
        streams = [:]
        order = []
        greeted = []
        unknown = []
        sinceAsked = [:]
        undelivered = []
        deliveries = [:]
        requests.restart()
        step.writes.append(.discardAll)
    }
}
