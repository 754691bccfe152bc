import Bus
import Bytes
import Models
import Reactor
import Wire

/// Sends delivered and read receipts of clients to `receipt`, merged per turn and repeated until there is a response.
///
/// No receipt is dropped. When a session has not joined its streams, or too many signals have no response, its receipts
/// wait with the session, and nothing more is read from the client.
@Reactor
final class ReceiptSender {
    private static let deadline = Duration.seconds(30)
    private static let pause = Duration.seconds(1)
    /// The pending receipts of a session above which nothing more is read from it.
    private static let pendingLimit = 1_000

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
    /// Sessions with pending receipts that wait for room, by user.
    private var stalled: [UserID: IdentityTable<Session>] = [:]
    /// The users of `stalled`, each once, in the order in which they are retried.
    private var stalledUsers = FIFO<UserID>()
    private var queuedUsers: Set<UserID> = []

    init(bus: Bus, rooms: Rooms, counters: Counters, turns: Turns) {
        self.bus = bus
        self.rooms = rooms
        self.counters = counters
        self.turns = turns
    }

    /// The number of signals that wait or are in flight.
    var count: Int { signals.count }

    func receive(_ items: [ClientFrame.ReceiptItem], isRead: Bool, by session: Session) {
        var rest = items[...]
        if session.isPlaced, session.pendingReceipts.isEmpty {
            while let item = rest.first, add(Receipt(item: item, isRead: isRead), session) { rest.removeFirst() }
        }
        guard !rest.isEmpty else { return }
        for item in rest { session.pendingReceipts.append(Receipt(item: item, isRead: isRead)) }
        if session.isPlaced { stall(session) }
        if session.isPlaced || session.pendingReceipts.count >= Self.pendingLimit { session.pause(.receipts) }
    }

    /// Sends the pending receipts of a session that has joined its streams. Its conversations were not known before.
    func placed(_ session: Session) { addPending(of: session) }

    func ended(_ session: Session) {
        session.pendingReceipts = FIFO()
        stalled[session.user]?.remove(session)
    }

    private func addPending(of session: Session) {
        while let receipt = session.pendingReceipts.first, add(receipt, session) {
            _ = session.pendingReceipts.popFirst()
        }
        if session.pendingReceipts.isEmpty {
            session.resume(.receipts)
        } else {
            session.pause(.receipts)
            stall(session)
        }
    }

    /// Adds a receipt. Returns false when it has to wait. Receipts of conversations that the session is not in are
    /// ignored.
    private func add(_ receipt: Receipt, _ session: Session) -> Bool {
        let item = receipt.item
        guard item.seq > 0, let room = rooms[item.conversation], session.isIn(room) else { return true }
        let key = ReceiptSignals.Key(conversation: item.conversation, user: session.user)
        // A message that was read was also delivered.
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

    /// Retries the stalled receipts of a user that has room again, and of the next stalled user.
    private func resumeStalled(after user: UserID) {
        if stalled[user] != nil, signals.hasRoom(for: user) { resumeStalled(user) }
        guard signals.count < ReceiptSignals.capacity, let next = stalledUsers.popFirst() else { return }
        queuedUsers.remove(next)
        guard stalled[next] != nil else { return }
        if signals.hasRoom(for: next) { resumeStalled(next) } else { queue(next) }
    }

    private func resumeStalled(_ user: UserID) {
        guard let sessions = stalled.removeValue(forKey: user) else { return }
        for session in sessions.values { addPending(of: session) }
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
        // A permanent refusal, such as of a member who has just left, is a response too.
        if case .response(let response) = outcome, response.status < 500 {
            signals.finished(signal)
            if !stalled.isEmpty { resumeStalled(after: signal.user) }
        } else if signals.failed(signal) {
            Reactor.after(Self.pause) { [weak self] in self?.resume() }
        }
        // The completed signal makes room for another one.
        if signals.hasReady { send() }
    }

    private func resume() {
        signals.resume()
        send()
    }
}
