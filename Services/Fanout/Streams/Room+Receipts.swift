import Bus
import Bytes
import Edge
import Models
import Reactor
import Wire

/// The receipts of a room: a stream of its own, in which only the latest position of each member matters.
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

    /// Without a frame: the members are too many to be named, and senders are told numbers. `version`: what those have
    /// who have everything before. Receipts are for members: who has left and still catches up with changes gets none.
    private func deliverStatus(_ frame: WebSocketFrame?, after version: Int64) {
        guard let frame else { return refreshCounts() }
        feed.forEachSubscriber { session in
            guard hasMember(session), behind.isEmpty || !behind.contains(session) else { return }
            guard session.takesStatus(of: self, behind: version) else { return }
            counters.deliveries += 1
            session.send(frame)
        }
    }

    // MARK: What was missed

    private func planStatusRepair() {
        guard status.planRepair() else { return }
        Reactor.after(DenseStream<ChangeFrame>.patience) { [weak self] in
            self?.rooms.afterStatusBacklog { [weak self] in self?.repairStatus() }
        }
    }

    private func repairStatus() {
        guard let after = status.beginRepair() else { return }
        counters.gaps += 1
        fetchStatus(after: after) { [weak self] in self?.repairedStatus($0, after: after) }
    }

    private func repairedStatus(_ answer: MergedStatus?, after version: Int64) {
        if status.endRepair(answer?.version), let answer {
            counters.repairs += 1
            deliverStatus(answer.frame, after: version)
            planStatusRepair()
        } else {
            Reactor.after(DenseStream<ChangeFrame>.pause) { [weak self] in self?.planStatusRepair() }
        }
    }

    /// - Parameter session: whom it is for, if not for all.
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

    // MARK: Who comes back

    /// Tells a session what moved behind `version`, which is what it has.
    func catchUpStatus(_ session: Session, after version: Int64) {
        guard hasMember(session), !behind.contains(session) else { return }
        behind.append(session)
        fetchStatus(for: session, after: version)
    }

    /// Some at a time for each session, so that who has very many conversations does not keep all others waiting.
    private func fetchStatus(for session: Session, after version: Int64) {
        session.fetchStatus { [weak self] sessionDone in
            guard let self, behind.contains(session) else { return sessionDone() }
            fetchStatus(after: version, for: session) { [weak self] answer in
                self?.take(answer, for: session, after: version)
                sessionDone()
            }
        }
    }

    private func take(_ answer: MergedStatus?, for session: Session, after version: Int64) {
        guard behind.contains(session) else { return }
        if let answer {
            tell(session, answer, after: version)
        } else {
            fetchStatusLater(for: session, after: version)
        }
    }

    private func tell(_ session: Session, _ answer: MergedStatus, after version: Int64) {
        guard hasMember(session) else { return forgetBehind(session) }
        if let frame = answer.frame {
            guard session.takesStatus(of: self, behind: version) else { return forgetBehind(session) }
            session.send(frame)
        } else if answer.version > version {
            counts.forget(session.user)
            refreshCounts()
        }
        // Newer ones were held back from this session meanwhile.
        if answer.version < status.version { return fetchStatus(for: session, after: answer.version) }
        forgetBehind(session)
    }

    private func fetchStatusLater(for session: Session, after version: Int64) {
        Reactor.after(DenseStream<ChangeFrame>.pause) { [weak self] in
            guard let self, behind.contains(session) else { return }
            fetchStatus(for: session, after: version)
        }
    }

    private func forgetBehind(_ session: Session) { behind.remove(session) }

    // MARK: Counts

    private func refreshCounts() { if counts.moved() { askForCounts() } }

    private func askForCounts() {
        let query = SenderCountsQuery(conversation)
        let bus = rooms.bus
        rooms.fetches.run(in: key) { [conversation, weak self] done in
            let fields: (inout ByteBuffer) -> Void = { query.write(to: &$0) }
            bus.request(.senderCounts, in: conversation.slot, deadline: Rooms.deadline, fields: fields) { outcome in
                done()
                self?.deliverCounts(outcome)
            }
        }
    }

    private func deliverCounts(_ outcome: RequestOutcome) {
        if case .answered(let answer) = outcome, answer.status == 200 {
            var reader = ByteReader(answer.payload.bytes)
            if let answer = try? SenderCounts(from: &reader) { deliver(answer) }
        } else {
            counts.failed()
        }
        Reactor.after(CountsRefresh.interval) { [weak self] in
            guard let self, counts.rested() else { return }
            askForCounts()
        }
    }

    /// Each sender is told of their own messages, and only what is new to them.
    private func deliver(_ answer: SenderCounts) {
        guard let news = try? counts.news(in: answer), !news.isEmpty else { return }
        feed.forEachSubscriber { session in
            guard let json = news[session.user], hasMember(session) else { return }
            guard session.takesStatus(of: self, behind: answer.version - 1) else { return }
            counters.deliveries += 1
            session.send(
                json.withUnsafeBytes { json in
                    ServerFrame.status(conversation, version: answer.version, at: answer.at, counts: json)
                })
        }
    }
}

/// The answer to a status query: everything that moved up to a version, as one frame.
private struct MergedStatus {
    let version: Int64
    let frame: WebSocketFrame?

    /// Nil when there is no answer that could be used.
    @Reactor init?(_ outcome: RequestOutcome) {
        guard case .answered(let answer) = outcome, answer.status == 200 else { return nil }
        var reader = ByteReader(answer.payload.bytes)
        guard let entry = try? StatusEntry(from: &reader) else { return nil }
        version = entry.version
        frame = entry.json.isEmpty ? nil : ServerFrame.status(entry.json)
    }
}
