import Bus
import Bytes
import Models
import Reactor
import Wire

/// Asks for the positions of all held streams of slots in which something may have been missed. Doubts that come within
/// 10 ms are asked about together, as when all digests of a new owner arrive.
@Reactor
final class PositionCheck {
    typealias Ask = @Reactor (Slot, StreamPositions, @escaping @Reactor (RequestOutcome) -> Void) -> Void

    private static let patience = Duration.milliseconds(10)
    private static let pause = Duration.seconds(1)
    /// Streams in one question.
    private static let chunk = 2_000

    private let held: @Reactor (Slot) -> [StreamPosition]
    private let ask: Ask
    private let learn: @Reactor (StreamPosition) -> Void
    private let turns: Turns
    private var doubtful: Set<Slot> = []
    private var isAllDoubtful = false
    private var isPlanned = false

    init(
        held: @escaping @Reactor (Slot) -> [StreamPosition], ask: @escaping Ask,
        turns: Turns, learn: @escaping @Reactor (StreamPosition) -> Void
    ) {
        self.turns = turns
        self.held = held
        self.ask = ask
        self.learn = learn
    }

    func doubt(_ slot: Slot) {
        doubtful.insert(slot)
        plan(after: Self.patience)
    }

    func doubtAll() {
        isAllDoubtful = true
        plan(after: Self.patience)
    }

    private func plan(after delay: Duration) {
        guard !isPlanned else { return }
        isPlanned = true
        Reactor.after(delay) { [weak self] in self?.check() }
    }

    private func check() {
        isPlanned = false
        let slots = isAllDoubtful ? Set(Slot.all) : doubtful
        doubtful = []
        isAllDoubtful = false
        turns.forEach(slots) { [weak self] in self?.check($0) }
    }

    private func check(_ slot: Slot) {
        let positions = held(slot)
        turns.spend(positions.count / 8)
        for start in stride(from: 0, to: positions.count, by: Self.chunk) {
            let chunk = StreamPositions(Array(positions[start..<min(start + Self.chunk, positions.count)]))
            ask(slot, chunk) { [weak self] in self?.take($0, slot) }
        }
    }

    private func take(_ outcome: RequestOutcome, _ slot: Slot) {
        guard let ahead = StreamPositions(outcome) else {
            doubtful.insert(slot)
            return plan(after: Self.pause)
        }
        for position in ahead.positions { learn(position) }
    }
}

extension StreamPositions {
    /// Nil when there is no answer that could be used.
    fileprivate init?(_ outcome: RequestOutcome) {
        guard case .answered(let answer) = outcome, answer.status == 200 else { return nil }
        var reader = ByteReader(answer.payload.bytes)
        guard let positions = try? StreamPositions(from: &reader) else { return nil }
        self = positions
    }
}
