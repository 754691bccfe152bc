import Bus
import Bytes
import Models
import Reactor
import Wire

/// Brings what clients have received and read to `receipt`, merged per turn and repeated until it is there.
///
/// Nothing that a client says is dropped. What has no room yet, because the session is not in its streams or because too
/// many signals have no answer, waits with the session; and so does the client, from which nothing more is read.
@Reactor
final class ReceiptSender {
    private static let deadline = Duration.seconds(30)
    private static let pause = Duration.seconds(1)
    /// Receipts that a session may have waiting before nothing more is read from it.
    private static let unsaidLimit = 1_000

    struct Receipt {
        let item: ClientFrame.ReceiptItem
        let isRead: Bool
    }

    private let bus: Bus
    private let rooms: Rooms
    private let counters: Counters
    private let turns: Turns
    private var signals = ReceiptSignals()
    private var isSending = false
    /// Sessions whose receipts wait for room, by user.
    private var stalled: [UserID: IdentityTable<Session>] = [:]
    /// Those users, each once, in the order in which they are looked at again.
    private var stalledUsers = FIFO<UserID>()
    private var queuedUsers: Set<UserID> = []

    init(bus: Bus, rooms: Rooms, counters: Counters, turns: Turns) {
        self.bus = bus
        self.rooms = rooms
        self.counters = counters
        self.turns = turns
    }

    /// Signals that wait or are on their way.
    var count: Int { signals.count }

    func receive(_ items: [ClientFrame.ReceiptItem], isRead: Bool, by session: Session) {
        var rest = items[...]
        if session.isPlaced, session.unsaidReceipts.isEmpty {
            while let item = rest.first, say(Receipt(item: item, isRead: isRead), session) { rest.removeFirst() }
        }
        guard !rest.isEmpty else { return }
        for item in rest { session.unsaidReceipts.append(Receipt(item: item, isRead: isRead)) }
        if session.isPlaced { stall(session) }
        if session.isPlaced || session.unsaidReceipts.count >= Self.unsaidLimit { session.pause(.receipts) }
    }

    /// The session is in its streams. Which conversations it is in was not known before.
    func placed(_ session: Session) { sayUnsaid(of: session) }

    func ended(_ session: Session) {
        session.unsaidReceipts = FIFO()
        stalled[session.user]?.remove(session)
    }

    private func sayUnsaid(of session: Session) {
        while let receipt = session.unsaidReceipts.first, say(receipt, session) {
            _ = session.unsaidReceipts.popFirst()
        }
        if session.unsaidReceipts.isEmpty {
            session.resume(.receipts)
        } else {
            session.pause(.receipts)
            stall(session)
        }
    }

    /// Returns false when it has to wait. About conversations the session is not in there is nothing to say.
    private func say(_ receipt: Receipt, _ session: Session) -> Bool {
        let item = receipt.item
        guard item.seq > 0, let room = rooms[item.conversation], session.isIn(room) else { return true }
        let key = ReceiptSignals.Key(conversation: item.conversation, user: session.user)
        // Who reads has received.
        guard signals.add(key, delivered: item.seq, read: receipt.isRead ? item.seq : 0) else { return false }
        send()
        return true
    }

    // MARK: Waiting for room

    private func stall(_ session: Session) {
        counters.receiptsDelayed += 1
        queue(session.user)
        stalled[session.user, default: IdentityTable()].set(session, session)
    }

    private func queue(_ user: UserID) { if queuedUsers.insert(user).inserted { stalledUsers.append(user) } }

    /// The user has room again, and so may somebody else.
    private func goOn(after user: UserID) {
        if stalled[user] != nil, signals.hasRoom(for: user) { goOn(user) }
        guard signals.count < ReceiptSignals.capacity, let next = stalledUsers.popFirst() else { return }
        queuedUsers.remove(next)
        guard stalled[next] != nil else { return }
        if signals.hasRoom(for: next) { goOn(next) } else { queue(next) }
    }

    private func goOn(_ user: UserID) {
        guard let sessions = stalled.removeValue(forKey: user) else { return }
        for session in sessions.values { sayUnsaid(of: session) }
    }

    // MARK: Sending

    private func send() {
        guard !isSending else { return }
        isSending = true
        turns.run { [self] in
            guard let signal = signals.takeReady() else {
                isSending = false
                return false
            }
            send(signal)
            return true
        }
    }

    private func send(_ signal: ReceiptSignal) {
        let fields: (inout ByteBuffer) -> Void = { signal.write(to: &$0) }
        bus.request(.signal, in: signal.conversation.slot, deadline: Self.deadline, fields: fields) { [weak self] in
            self?.take($0, signal)
        }
    }

    private func take(_ outcome: RequestOutcome, _ signal: ReceiptSignal) {
        // A refusal for good, as of somebody who has just left, is an answer too.
        if case .answered(let answer) = outcome, answer.status < 500 {
            signals.finished(signal)
            if !stalled.isEmpty { goOn(after: signal.user) }
        } else if signals.failed(signal) {
            Reactor.after(Self.pause) { [weak self] in self?.resume() }
        }
        // There is room for another one on its way.
        if signals.hasReady { send() }
    }

    private func resume() {
        signals.resume()
        send()
    }
}
