import Bus
import Bytes
import Models
import Reactor
import Wire

/// Reports to `receipt` when users were last seen, and queries that. A lost report is repeated later, or makes the time
/// some minutes less exact.
@Reactor
final class LastSeenSender {
    /// How long users are gathered for one report: many sessions end at once.
    private static let gathering = Duration.seconds(1)
    private static let deadline = Duration.seconds(10)

    private let bus: Bus
    private let turns: Turns
    private var waiting: [Slot: Set<UserID>] = [:]
    /// Limits the queries in flight, for a reconnecting crowd.
    private let queries = FetchQueue(share: 1)
    /// The sessions that wait for the query of their user.
    private var waitingSessions: [UserID: IdentityTable<Session>] = [:]
    var onResponse: @Reactor (Session, [PresenceList.Departure]) -> Void = { _, _ in }

    init(bus: Bus, turns: Turns) {
        self.bus = bus
        self.turns = turns
    }

    func seen(_ user: UserID) {
        if waiting.isEmpty { Reactor.after(Self.gathering) { [weak self] in self?.sendOverTurns() } }
        waiting[user.slot, default: []].insert(user)
    }

    /// Sends all waiting reports, at the end of the process.
    func send() {
        for (slot, users) in waiting { send(Array(users), slot) }
        waiting = [:]
    }

    private func sendOverTurns() {
        turns.forEach(waiting) { [weak self] slot, users in
            self?.send(Array(users), slot)
            self?.turns.spend(users.count / 16)
        }
        waiting = [:]
    }

    private func send(_ users: [UserID], _ slot: Slot) {
        for start in stride(from: 0, to: users.count, by: SeenUsers.limit) {
            let seen = SeenUsers(Array(users[start..<min(start + SeenUsers.limit, users.count)]))
            let fields: (inout ByteBuffer) -> Void = { seen.write(to: &$0) }
            bus.request(.seen, in: slot, deadline: Self.deadline, fields: fields) { _ in }
        }
    }

    /// Queries when the other users in the direct conversations of a session's user were last seen. One query serves
    /// all sessions of the user.
    func queryPeers(of session: Session) {
        let user = session.user
        let isQueried = waitingSessions[user] != nil
        waitingSessions[user, default: IdentityTable()].set(session, session)
        guard !isQueried else { return }
        queries.run(in: .user(user)) { [self] done in
            guard waitingSessions[user]!.values.contains(where: { !$0.isLeaving }) else {
                waitingSessions[user] = nil
                return done()
            }
            let query = LastSeenQuery(user)
            let fields: (inout ByteBuffer) -> Void = { query.write(to: &$0) }
            bus.request(.lastSeen, in: user.slot, deadline: Self.deadline, fields: fields) { [self] outcome in
                done()
                let departures = outcome.departures
                for session in waitingSessions.removeValue(forKey: user)!.values { onResponse(session, departures) }
            }
        }
    }
}

extension RequestOutcome {
    /// Empty when the request failed.
    fileprivate var departures: [PresenceList.Departure] {
        guard case .response(let response) = self, response.status == 200 else { return [] }
        var reader = ByteReader(response.payload.bytes)
        return (try? LastSeen(from: &reader))?.departures ?? []
    }
}
