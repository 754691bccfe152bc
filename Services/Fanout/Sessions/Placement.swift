import Models
import Reactor
import Wire

/// Adds a session to its streams at its cursors, one conversation per step.
///
/// Events continue between two steps. A conversation is joined at its position in the bootstrap, however long ago that
/// was read: later changes are in its feed, or `PositionRecorder` has recorded them. The private stream comes last:
/// what it brings after the bootstrap, such as a new conversation, finds all others in place. When a session ends
/// meanwhile, the placement stops, and the end of the session removes it from the streams it has joined.
@Reactor
final class Placement {
    private let session: Session
    private var hello: Hello
    private let bootstrap: Bootstrap
    private let dependencies: SessionStarter.Dependencies
    /// The number of stays that the first steps have sorted, and the stays by conversation; most have one.
    private var sorted = 0
    private var stays: [ConversationID: [Bootstrap.Stay]] = [:]
    private var conversations: ContiguousArray<ConversationID> = []
    private var hasBegun = false

    init(_ session: Session, _ hello: Hello, _ bootstrap: Bootstrap, _ dependencies: SessionStarter.Dependencies) {
        self.session = session
        self.hello = hello
        self.bootstrap = bootstrap
        self.dependencies = dependencies
    }

    /// Returns whether there is more to do.
    func next() -> Bool {
        guard !session.isLeaving else { return false }
        if !hasBegun { begin() }
        if sorted < bootstrap.stays.count {
            sortSome()
        } else if let conversation = conversations.popLast() {
            place(conversation, stays[conversation]!)
        } else {
            finish()
            return false
        }
        return true
    }

    private func begin() {
        hasBegun = true
        checkHello()
        session.expectedRooms = bootstrap.stays.count
        dependencies.sessions.limitRooms(of: session.user)
        session.setBlocked(bootstrap.blocked)
        session.showsPresence = bootstrap.showsPresence
        stays.reserveCapacity(bootstrap.stays.count)
    }

    /// Positions in another log or beyond the end of this one are meaningless: they are dropped, and the client gets a
    /// reset.
    private func checkHello() {
        let isOtherLog = hello.logID.map { $0 != bootstrap.logID.description } ?? false
        guard isOtherLog || hello.useq ?? 0 > bootstrap.useq else { return }
        dependencies.counters.resets += 1
        session.send(ServerFrame.reset())
        (hello.cursors, hello.statusVersions, hello.useq) = ([:], nil, nil)
    }

    /// Sorting is much less work than joining, so one step takes several stays.
    private func sortSome() {
        let end = min(sorted + 8, bootstrap.stays.count)
        for stay in bootstrap.stays[sorted..<end] {
            if stays[stay.conversation] == nil { conversations.append(stay.conversation) }
            stays[stay.conversation, default: []].append(stay)
        }
        sorted = end
    }

    private func finish() {
        session.bootstrapUseq = bootstrap.useq
        session.isPlaced = true
        session.expectedRooms = 0
        dependencies.presence.started(session)
        let stream = dependencies.streams.open(session.user, useq: bootstrap.useq)
        stream.add(session, after: privateStart(), .unlimited)
    }

    /// Returns the position after which the session's private changes begin.
    private func privateStart() -> Int64 {
        guard let useq = hello.useq else { return bootstrap.useq }
        guard useq + 1 < bootstrap.firstUseq else { return useq }
        dependencies.counters.reloads += 1
        session.send(ServerFrame.reload(useq: bootstrap.useq))
        return bootstrap.useq
    }

    // MARK: A conversation

    private func place(_ conversation: ConversationID, _ records: [Bootstrap.Stay]) {
        let stays = Stays(records.map { Stays.Stay(from: $0.from, through: $0.through) })
        session.windows.set(stays, in: conversation)
        let lastSeq = records[0].lastSeq
        let start = start(in: conversation, stays, lastSeq: lastSeq)
        // A former member who has every visible change needs no feed.
        guard stays.next(after: start) != nil else { return }
        let statusVersion = records[0].statusVersion
        let room = dependencies.rooms.open(conversation, lastSeq: lastSeq, statusVersion: statusVersion)
        room.learn(memberCount: records[0].memberCount, at: lastSeq)
        room.join(session, after: start, stays)
        dependencies.presence.placed(session, room)
        // The room may be ahead of the bootstrap, which was read earlier.
        let latest = max(statusVersion, room.statusVersion)
        if let version = hello.statusVersion(in: conversation), version < latest, stays.end == nil {
            room.catchUpStatus(session, after: version)
        }
    }

    /// Returns the position after which the session's changes of a conversation begin.
    private func start(in conversation: ConversationID, _ stays: Stays, lastSeq: Int64) -> Int64 {
        let end = min(lastSeq, stays.end ?? .max)
        guard let cursor = hello.cursors[conversation] else { return end }
        if cursor > end {
            dependencies.counters.resets += 1
            session.send(ServerFrame.reset(conversation))
            return end
        }
        if stays.count(after: cursor, through: end) > ContractLimits.replayChanges {
            dependencies.counters.reloads += 1
            session.send(ServerFrame.reload(conversation, lastSeq: end))
            return end
        }
        return cursor
    }
}
