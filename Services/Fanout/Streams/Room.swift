import Bus
import Bytes
import Edge
import Models
import Reactor
import Wire

/// A change, encoded once for all sessions.
struct ChangeFrame: StreamEntry {
    let position: Int64
    let frame: WebSocketFrame
    /// The member whose stay this change ends.
    let removed: UserID?

    init(_ entry: ChangeEntry) {
        position = entry.seq
        frame = ServerFrame.change(entry.json)
        removed = entry.kind == .memberRemoved ? UserID(trusted: entry.user) : nil
    }

    func isLast(for session: Session) -> Bool { removed != nil && removed == session.user }
}

/// A conversation of which sessions of this process take part.
@Reactor
final class Room: FeedHost {
    let conversation: ConversationID
    var feed: Feed<ChangeFrame>
    private var status: StatusStream
    /// Sessions whose receipts are behind: each gets one merged frame before any other.
    private var behind: [(session: Session, version: Int64)] = []
    /// Where the members are too many to be named.
    private var counts = CountsRefresh()
    private unowned let rooms: Rooms

    init(_ conversation: ConversationID, lastSeq: Int64, statusVersion: Int64, in rooms: Rooms) {
        self.conversation = conversation
        self.rooms = rooms
        feed = Feed(last: lastSeq)
        status = StatusStream(version: statusVersion)
    }

    var fetches: FetchQueue { rooms.fetches }
    var counters: Counters { rooms.counters }
    var statusVersion: Int64 { status.version }

    // MARK: Changes

    func join(_ session: Session, after seq: Int64, _ stays: Stays) {
        if !session.isIn(self) { session.rooms.append(self) }
        add(session, after: seq, stays)
    }

    func leave(_ session: Session) {
        feed.remove(session)
        behind.removeAll { $0.session === session }
        rooms.removeIfEmpty(self)
    }

    func deliver(_ entry: ChangeFrame, to session: Session) {
        counters.deliveries += 1
        session.send(entry.frame)
    }

    func ended(_ session: Session) {
        session.forget(self)
        leave(session)
    }

    func fetch(after: Int64, through: Int64, then: @escaping @Reactor (Page<ChangeFrame>?) -> Void) {
        let query = ReplayQuery(conversation, after: after, through: through, limit: Rooms.pageSize)
        let slot = conversation.slot
        rooms.bus.request(.replay, in: slot, deadline: Rooms.deadline, fields: { query.write(to: &$0) }) { outcome in
            then(outcome.page { (reader) throws(WireError) in ChangeFrame(try ChangeEntry(from: &reader)) })
        }
    }

    // MARK: Receipts

    func announce(_ entry: StatusEntry) {
        switch status.announce(entry.version) {
        case .next: entry.json.isEmpty ? refreshCounts() : deliverStatus(ServerFrame.status(entry.json))
        case .early: planStatusRepair()
        case .old: break
        }
    }

    func learnStatus(_ version: Int64) {
        status.learn(version)
        planStatusRepair()
    }

    /// Tells a session what moved behind `version`, which is what it has.
    func catchUpStatus(_ session: Session, after version: Int64) {
        behind.append((session, version))
        fetchStatus(for: session, after: version)
    }

    private func deliverStatus(_ frame: WebSocketFrame) {
        feed.forEachSubscriber { session in
            guard behind.isEmpty || !behind.contains(where: { $0.session === session }) else { return }
            counters.deliveries += 1
            session.send(frame)
        }
    }

    private func planStatusRepair() {
        guard status.planRepair() else { return }
        Reactor.after(DenseStream<ChangeFrame>.patience) { [weak self] in self?.repairStatus() }
    }

    private func repairStatus() {
        guard let after = status.beginRepair() else { return }
        counters.gaps += 1
        fetchStatus(after: after) { [weak self] answer in
            guard let self else { return }
            guard status.endRepair(answer?.version), let answer else {
                Reactor.after(DenseStream<ChangeFrame>.pause) { [weak self] in self?.planStatusRepair() }
                return
            }
            counters.repairs += 1
            if let frame = answer.frame { deliverStatus(frame) } else { refreshCounts() }
            planStatusRepair()
        }
    }

    private func fetchStatus(for session: Session, after version: Int64) {
        fetchStatus(after: version) { [weak self] answer in
            guard let self, let index = behind.firstIndex(where: { $0.session === session }) else { return }
            guard let answer else { return fetchStatusLater(for: session, after: version) }
            if let frame = answer.frame {
                session.send(frame)
            } else if answer.version > version {
                counts.forget(session.user)
                refreshCounts()
            }
            if answer.version < status.version, answer.version > version {
                fetchStatus(for: session, after: answer.version)
            } else {
                behind.remove(at: index)
            }
        }
    }

    // MARK: Counts

    private func refreshCounts() {
        if counts.moved() { askForCounts() }
    }

    private func askForCounts() {
        let query = SenderCountsQuery(conversation)
        let bus = rooms.bus
        rooms.fetches.run { [conversation, weak self] done in
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
            guard let self else { return }
            if counts.rested() { askForCounts() }
        }
    }

    /// Each sender is told of their own messages, and only what is new to them.
    private func deliver(_ answer: SenderCounts) {
        guard let news = try? counts.news(in: answer), !news.isEmpty else { return }
        feed.forEachSubscriber { session in
            guard let json = news[session.user] else { return }
            counters.deliveries += 1
            session.send(
                json.withUnsafeBytes { json in
                    ServerFrame.status(conversation, version: answer.version, at: answer.at, counts: json)
                })
        }
    }

    private func fetchStatusLater(for session: Session, after version: Int64) {
        Reactor.after(DenseStream<ChangeFrame>.pause) { [weak self] in
            guard let self, behind.contains(where: { $0.session === session }) else { return }
            fetchStatus(for: session, after: version)
        }
    }

    private func fetchStatus(after version: Int64, then: @escaping @Reactor (MergedStatus?) -> Void) {
        let query = StatusQuery(conversation, after: version)
        let bus = rooms.bus
        rooms.fetches.run { [conversation] done in
            let fields: (inout ByteBuffer) -> Void = { query.write(to: &$0) }
            bus.request(.status, in: conversation.slot, deadline: Rooms.deadline, fields: fields) { outcome in
                done()
                then(MergedStatus(outcome))
            }
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

extension RequestOutcome {
    /// A page of a stream: its last position, then entries to the end; nil when the request failed.
    func page<Entry>(_ entry: (inout ByteReader) throws(WireError) -> Entry) -> Page<Entry>? {
        guard case .answered(let answer) = self, answer.status == 200 else { return nil }
        var reader = ByteReader(answer.payload.bytes)
        do throws(WireError) {
            var page = Page<Entry>()
            page.last = try reader.number()
            while !reader.isAtEnd { page.entries.append(try entry(&reader)) }
            return page
        } catch {
            return nil
        }
    }
}
