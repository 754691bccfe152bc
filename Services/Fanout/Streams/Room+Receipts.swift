import Bus
import Bytes
import Edge
import Models
import Reactor
import Wire

/// The receipts of a room: a separate stream, in which only the latest position of each member matters.
extension Room {
    var statusVersion: Int64 { status.version }

    func announce(_ entry: StatusEntry) {
        switch status.announce(entry.version) {
        case .next: deliverStatus(entry.json.isEmpty ? nil : ServerFrame.status(entry.json), after: entry.version - 1)
        case .early: planStatusRepair()
        case .old: break
        }
    }

    func learnStatus(_ version: Int64) {
        status.learn(version)
        planStatusRepair()
    }

    /// Delivers a status frame to members. Without a frame the room is too large to name members, and senders get
    /// counts instead. `version` is the version of sessions that have everything before. A former member who still
    /// catches up with changes gets no receipts.
    private func deliverStatus(_ frame: WebSocketFrame?, after version: Int64) {
        guard let frame else { return refreshCounts() }
        feed.forEachSubscriber { session in
            guard hasMember(session), behind.isEmpty || !behind.contains(session) else { return }
            guard session.takesStatus(of: self, behind: version) else { return }
            counters.deliveries += 1
            session.send(frame)
        }
    }

    // MARK: Repair

    private func planStatusRepair() {
        guard status.planRepair() else { return }
        Reactor.after(DenseStream<ChangeFrame>.repairDelay) { [weak self] in
            self?.rooms.afterStatusBacklog { [weak self] in self?.repairStatus() }
        }
    }

    private func repairStatus() {
        guard let after = status.beginRepair() else { return }
        counters.gaps += 1
        fetchStatus(after: after) { [weak self] in self?.repairedStatus($0, after: after) }
    }

    private func repairedStatus(_ response: MergedStatus?, after version: Int64) {
        if status.endRepair(response?.version), let response {
            counters.repairs += 1
            deliverStatus(response.frame, after: version)
            planStatusRepair()
        } else {
            Reactor.after(DenseStream<ChangeFrame>.retryDelay) { [weak self] in self?.planStatusRepair() }
        }
    }

    /// - Parameter session: the session that needs it; nil: all of them.
    private func fetchStatus(
        after version: Int64, for session: Session? = nil, then: @escaping @Reactor (MergedStatus?) -> Void
    ) {
        let query = StatusQuery(conversation, after: version)
        let bus = rooms.bus
        let fetch: FetchQueue.Fetch = { [conversation] done in
            let fields: (inout ByteBuffer) -> Void = { query.write(to: &$0) }
            bus.request(.status, in: conversation.slot, deadline: Rooms.deadline, fields: fields) { outcome in
                done()
                then(MergedStatus(outcome))
            }
        }
        if let session { rooms.fetches.run(for: session, fetch) } else { rooms.fetches.run(in: key, fetch) }
    }

    // MARK: Catching up

    /// Sends a session the receipts after `version`, which it has.
    func catchUpStatus(_ session: Session, after version: Int64) {
        guard hasMember(session), !behind.contains(session) else { return }
        behind.append(session)
        fetchStatus(for: session, after: version)
    }

    /// Fetches at the pace of the session, so that a user with very many conversations does not keep the others
    /// waiting.
    private func fetchStatus(for session: Session, after version: Int64) {
        session.fetchStatus { [weak self] sessionDone in
            guard let self, behind.contains(session) else { return sessionDone() }
            fetchStatus(after: version, for: session) { [weak self] response in
                self?.take(response, for: session, after: version)
                sessionDone()
            }
        }
    }

    private func take(_ response: MergedStatus?, for session: Session, after version: Int64) {
        guard behind.contains(session) else { return }
        if let response {
            sendStatus(session, response, after: version)
        } else {
            fetchStatusLater(for: session, after: version)
        }
    }

    private func sendStatus(_ session: Session, _ response: MergedStatus, after version: Int64) {
        guard hasMember(session) else { return forgetBehind(session) }
        if let frame = response.frame {
            guard session.takesStatus(of: self, behind: version) else { return forgetBehind(session) }
            session.send(frame)
        } else if response.version > version {
            counts.forget(session.user)
            refreshCounts()
        }
        // Newer receipts were held back from this session meanwhile.
        if response.version < status.version { return fetchStatus(for: session, after: response.version) }
        forgetBehind(session)
    }

    private func fetchStatusLater(for session: Session, after version: Int64) {
        Reactor.after(DenseStream<ChangeFrame>.retryDelay) { [weak self] in
            guard let self, behind.contains(session) else { return }
            fetchStatus(for: session, after: version)
        }
    }

    private func forgetBehind(_ session: Session) { behind.remove(session) }

    // MARK: Counts

    private func refreshCounts() { if counts.moved() { queryCounts() } }

    private func queryCounts() {
        let query = SenderCountsQuery(conversation)
        let bus = rooms.bus
        rooms.fetches.run(in: key) { [conversation, weak self] done in
            let fields: (inout ByteBuffer) -> Void = { query.write(to: &$0) }
            let started = MonotonicTime.now
            bus.request(.senderCounts, in: conversation.slot, deadline: Rooms.deadline, fields: fields) { outcome in
                done()
                self?.deliverCounts(outcome, after: MonotonicTime.now - started)
            }
        }
    }

    private func deliverCounts(_ outcome: RequestOutcome, after taken: Duration) {
        var rest = CountsRefresh.interval
        if case .response(let response) = outcome, response.status == 200 {
            var reader = ByteReader(response.payload.bytes)
            if let response = try? SenderCounts(from: &reader) { deliver(response) }
            rest = CountsRefresh.rest(after: taken)
        } else {
            counts.failed()
        }
        Reactor.after(rest) { [weak self] in
            guard let self, counts.rested() else { return }
            queryCounts()
        }
    }

    /// Sends each sender the changed counts of their own messages.
    private func deliver(_ response: SenderCounts) {
        guard let updates = try? counts.updates(in: response), !updates.isEmpty else { return }
        feed.forEachSubscriber { session in
            guard let json = updates[session.user], hasMember(session) else { return }
            guard session.takesStatus(of: self, behind: response.version - 1) else { return }
            counters.deliveries += 1
            session.send(
                json.withUnsafeBytes { json in
                    ServerFrame.status(conversation, version: response.version, at: response.at, counts: json)
                })
        }
    }
}

/// The response to a status query: everything that moved up to a version, as one frame.
private struct MergedStatus {
    let version: Int64
    let frame: WebSocketFrame?

    /// Nil when there is no usable response.
    @Reactor init?(_ outcome: RequestOutcome) {
        guard case .response(let response) = outcome, response.status == 200 else { return nil }
        var reader = ByteReader(response.payload.bytes)
        guard let entry = try? StatusEntry(from: &reader) else { return nil }
        version = entry.version
        frame = entry.json.isEmpty ? nil : ServerFrame.status(entry.json)
    }
}
