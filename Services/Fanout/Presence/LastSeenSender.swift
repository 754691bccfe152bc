import Bus
import Bytes
import Models
import Reactor
import Wire

/// Has `receipt` keep when users were last seen, and asks it. What is lost is told again, or is some minutes less exact.
@Reactor
final class LastSeenSender {
    /// Users are gathered for so long: many sessions end at once.
    private static let gathering = Duration.seconds(1)
    private static let deadline = Duration.seconds(10)

    private let bus: Bus
    private let turns: Turns
    private var waiting: [Slot: Set<UserID>] = [:]
    /// A reconnecting crowd asks for few users at a time.
    private let questions = FetchQueue(share: 1)
    /// Who waits for the one question of their user.
    private var askers: [UserID: IdentityTable<Session>] = [:]
    var onAnswer: @Reactor (Session, [PresenceList.Departure]) -> Void = { _, _ in }

    init(bus: Bus, turns: Turns) {
        self.bus = bus
        self.turns = turns
    }

    func seen(_ user: UserID) {
        if waiting.isEmpty { Reactor.after(Self.gathering) { [weak self] in self?.sendOverTurns() } }
        waiting[user.slot, default: []].insert(user)
    }

    /// Sends all that waits, for the end of the process.
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

    /// Asks for the others in the direct conversations of a session's user who are known to have been online. All of the
    /// user's sessions are answered by one question.
    func askOfPeers(_ session: Session) {
        let user = session.user
        let isAsked = askers[user] != nil
        askers[user, default: IdentityTable()].set(session, session)
        guard !isAsked else { return }
        questions.run(in: .user(user)) { [self] done in
            guard askers[user]!.values.contains(where: { !$0.isLeaving }) else {
                askers[user] = nil
                return done()
            }
            let query = LastSeenQuery(user)
            let fields: (inout ByteBuffer) -> Void = { query.write(to: &$0) }
            bus.request(.lastSeen, in: user.slot, deadline: Self.deadline, fields: fields) { [self] outcome in
                done()
                let departures = outcome.departures
                for session in askers.removeValue(forKey: user)!.values { onAnswer(session, departures) }
            }
        }
    }
}

extension RequestOutcome {
    /// None when the request failed.
    fileprivate var departures: [PresenceList.Departure] {
        guard case .answered(let answer) = self, answer.status == 200 else { return [] }
        var reader = ByteReader(answer.payload.bytes)
        return (try? LastSeen(from: &reader))?.departures ?? []
    }
}
