import Bus
import Bytes
import Models
import Reactor
import Wire

/// Brings what clients have received and read to `receipt`, merged per turn and repeated until it is there.
@Reactor
final class ReceiptSender {
    private static let deadline = Duration.seconds(30)
    private static let pause = Duration.seconds(1)
    /// Receipts that one session may have waiting until it is placed.
    private static let earlyLimit = 1_000

    struct EarlyReceipt {
        let item: ClientFrame.ReceiptItem
        let isRead: Bool
    }

    private let bus: Bus
    private let rooms: Rooms
    private let counters: Counters
    private var signals = ReceiptSignals()
    private var isFlushPlanned = false

    init(bus: Bus, rooms: Rooms, counters: Counters) {
        self.bus = bus
        self.rooms = rooms
        self.counters = counters
    }

    func delivered(_ item: ClientFrame.ReceiptItem, by session: Session) {
        guard !hold(EarlyReceipt(item: item, isRead: false), of: session) else { return }
        add(item, session) { signals.add($0, delivered: item.seq) }
    }

    func read(_ item: ClientFrame.ReceiptItem, by session: Session) {
        guard !hold(EarlyReceipt(item: item, isRead: true), of: session) else { return }
        // Who reads has received.
        add(item, session) { signals.add($0, delivered: item.seq, read: item.seq) }
    }

    /// The session is in its streams.
    func placed(_ session: Session) {
        let early = session.earlyReceipts ?? []
        session.earlyReceipts = nil
        for receipt in early {
            if receipt.isRead { read(receipt.item, by: session) } else { delivered(receipt.item, by: session) }
        }
    }

    /// Which conversations a session is in is not known before it is placed.
    private func hold(_ receipt: EarlyReceipt, of session: Session) -> Bool {
        guard let early = session.earlyReceipts else { return false }
        if early.count < Self.earlyLimit {
            session.earlyReceipts?.append(receipt)
        } else {
            counters.signalsDropped += 1
        }
        return true
    }

    /// About conversations the session is not in there is nothing to say.
    private func add(_ item: ClientFrame.ReceiptItem, _ session: Session, _ add: (ReceiptSignals.Key) -> Bool) {
        guard item.seq > 0, let room = rooms[item.conversation], session.isIn(room) else { return }
        if add(ReceiptSignals.Key(conversation: item.conversation, user: session.user)) {
            planFlush()
        } else {
            counters.signalsDropped += 1
        }
    }

    private func planFlush() {
        guard !isFlushPlanned else { return }
        isFlushPlanned = true
        Reactor.atEndOfTurn { [self] in
            isFlushPlanned = false
            for signal in signals.takeReady() { send(signal) }
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
            if signals.finished(signal) { planFlush() }
        } else if signals.failed(signal) {
            Reactor.after(Self.pause) { [weak self] in self?.resume() }
        }
    }

    private func resume() {
        signals.resume()
        planFlush()
    }
}
