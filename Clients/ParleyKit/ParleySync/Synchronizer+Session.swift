import Models
import ParleyStorage

// A session from the token to its end.

extension Synchronizer {
    mutating func start(_ step: inout SyncStep) {
        switch phase {
        case .off, .ended, .pausing:
            phase = .needsToken
            step.token = requests.awaitsToken ? .fresh : .any
            step.notices.append(.connection(.connecting))
        case .needsToken, .connecting, .greeting, .live: break
        }
    }

    mutating func stop(_ step: inout SyncStep) {
        step.connection = .close
        endSession()
        phase = .off
        step.notices.append(.connection(.off))
    }

    mutating func take(_ fresh: String, _ now: Duration, _ step: inout SyncStep) {
        token = fresh
        requests.tokenArrived()
        switch phase {
        case .needsToken:
            phase = .connecting
            step.connection = .open
        case .live: step.frames.append(.auth(token: fresh))
        default: break
        }
    }

    mutating func tokenFailed(_ now: Duration, _ step: inout SyncStep) {
        if requests.awaitsToken { requests.pause(at: now, using: &random) }
        guard phase == .needsToken else { return }
        pause(now, &step)
    }

    // MARK: The beginning

    mutating func greet(_ now: Duration, _ step: inout SyncStep) {
        guard phase == .connecting, let token else { return }
        phase = .greeting(until: now + Self.welcomePatience)
        // These would say where a conversation stood before the session: what came in between would be missed.
        requests.cancel { call in
            switch call {
            case .conversation, .conversations, .sync: true
            default: false
            }
        }
        listed = nil
        isListAtEnd = false
        removed = []
        var cursors: [ConversationID: Int64] = [:]
        var versions: [ConversationID: Int64] = [:]
        // Positions of which it is not known in which database they are would be replayed from, and then discarded.
        greeted = logId == nil ? [] : Set(order.prefix(Self.greetedConversations))
        for id in greeted {
            cursors[id] = streams[id]?.cursor
            versions[id] = streams[id].flatMap { $0.statusVersion > 0 ? $0.statusVersion : nil }
        }
        step.frames.append(
            .hello(
                .init(
                    token: token, cursors: cursors, useq: logId == nil ? nil : useq, statusVersions: versions,
                    logId: logId?.description)))
    }

    mutating func take(_ welcome: FrameFromServer.Welcome, _ now: Duration, _ step: inout SyncStep) {
        guard isGreeting else { return }
        guard userId == nil || userId == welcome.userId else { return end(.otherUser, &step) }
        phase = .live
        stableAt = now + Self.stableAfter
        hasDiscarded = false
        self.welcome = welcome
        userId = welcome.userId
        step.notices.append(.connection(.online))
        // What was loaded before the first session may be of a database that was restored since: only a welcome names it.
        let isEmpty = streams.isEmpty && unknown.isEmpty && useq == nil
        if logId != welcome.logId, logId != nil || !isEmpty { discardAll(&step) }
        begin(welcome, now, &step)
    }

    /// Takes the positions and conversations of a welcome.
    mutating func begin(_ welcome: FrameFromServer.Welcome, _ now: Duration, _ step: inout SyncStep) {
        logId = welcome.logId
        step.writes.append(.session(userId: welcome.userId, logId: welcome.logId, useq: welcome.useq))
        if useq == nil {
            useq = welcome.useq
            loadPrivateState(&step)
        }
        if let blocked = welcome.blocked {
            step.writes.append(.blocks(blocked, useq: welcome.useq))
            requests.cancel { $0 == .blocks }
        }
        profiles.allChanged(at: now)
        if !isListComplete { beginList() }
        for conversation in welcome.conversations { takeListed(conversation, now, &step) }
        if !isListComplete {
            if welcome.more { requests.ask(.conversations(before: nil)) } else { isListAtEnd = true }
        } else if streams.count > Self.greetedConversations {
            // Those that the greeting could not name: what they missed shows in the list.
            beginList()
            requests.ask(.conversations(before: nil))
        }
        for id in unknown.inOrder { requests.ask(.conversation(id)) }
        for (id, stream) in streams where stream.cursor > stream.deliveredSeq { deliverSoon(id, now) }
    }

    // MARK: The end

    mutating func closed(_ now: Duration, _ step: inout SyncStep) {
        let farewell = farewell
        let wasStable = phase == .live && stableAt.map { $0 <= now } ?? false
        switch phase {
        case .off, .ended, .pausing: return
        case .needsToken, .connecting, .greeting, .live: break
        }
        endSession()
        if wasStable { backoff.succeeded() }
        switch farewell?.code {
        case .known(.superseded): return end(.superseded, &step)
        case .known(.unauthenticated):
            token = nil
            requests.awaitToken()
        default: break
        }
        let isSuspended = farewell?.code == .known(.suspended)
        pause(
            now, atLeast: farewell?.retryAfter.map { .seconds($0) },
            as: isSuspended ? .suspended(until: farewell?.until) : .waiting, &step)
    }

    private mutating func pause(
        _ now: Duration, atLeast asked: Duration? = nil, as state: ConnectionState = .waiting, _ step: inout SyncStep
    ) {
        phase = .pausing(until: now + backoff.pause(atLeast: asked, using: &random))
        step.notices.append(.connection(state))
    }

    mutating func end(_ state: ConnectionState, _ step: inout SyncStep) {
        endSession()
        phase = .ended
        step.connection = .close
        step.notices.append(.connection(state))
    }

    private mutating func endSession() {
        farewell = nil
        stableAt = nil
        deliveries = [:]
        deliverAt = nil
        listed = nil
        isListAtEnd = false
    }

    // MARK: Receipts

    mutating func deliverSoon(_ id: ConversationID, _ now: Duration) {
        undelivered.insert(id)
        if deliverAt == nil { deliverAt = now + Self.deliveryDelay }
    }

    mutating func tellDelivered(_ step: inout SyncStep) {
        deliverAt = nil
        let positions = undelivered.inOrder.compactMap { id in
            streams[id].map { FrameFromClient.ReceiptPosition(conversationId: id, seq: $0.cursor) }
        }
        undelivered = []
        for start in stride(from: 0, to: positions.count, by: Self.receiptsPerFrame) {
            let part = Array(positions[start..<min(start + Self.receiptsPerFrame, positions.count)])
            let id = "delivered-\(random.next())"
            deliveries[id] = part
            // Frames with receipts have no response. A ping has, and arrives after them.
            step.frames += [.delivered(part), .ping(id: id)]
        }
    }

    mutating func confirmDelivered(_ id: String, _ step: inout SyncStep) {
        for position in deliveries.removeValue(forKey: id) ?? [] {
            guard let stream = streams[position.conversationId], stream.deliveredSeq < position.seq else { continue }
            streams[position.conversationId]?.deliveredSeq = position.seq
            step.writes.append(.delivered(position.conversationId, position.seq))
        }
    }
}

extension Set<ConversationID> {
    /// The same order in every process, so that a seed repeats a run.
    fileprivate var inOrder: [ConversationID] { sorted { $0.uuid < $1.uuid } }
}
