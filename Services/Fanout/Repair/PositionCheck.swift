import Bus
import Bytes
import Models
import Reactor
import Wire

/// Queries the positions of all streams held here, for slots in which something may have been missed. Doubts that arise
/// within 10 ms are queried together, for example when all digests of a new owner arrive.
@Reactor
final class PositionCheck {
    typealias Query = @Reactor (Slot, StreamPositions, @escaping @Reactor (RequestOutcome) -> Void) -> Void

    private static let gatheringTime = Duration.milliseconds(10)
    private static let pause = Duration.seconds(1)
    /// The most streams in one query.
    private static let chunk = 2_000

    private let held: @Reactor (Slot) -> [StreamPosition]
    private let query: Query
    private let learn: @Reactor (StreamPosition) -> Void
    private let turns: Turns
    private var doubtful: Set<Slot> = []
    private var isAllDoubtful = false
    private var isPlanned = false

    init(
        held: @escaping @Reactor (Slot) -> [StreamPosition], query: @escaping Query,
        turns: Turns, learn: @escaping @Reactor (StreamPosition) -> Void
    ) {
        self.turns = turns
        self.held = held
        self.query = query
        self.learn = learn
    }

    func doubt(_ slot: Slot) {
        doubtful.insert(slot)
        plan(after: Self.gatheringTime)
    }

    func doubtAll() {
        isAllDoubtful = true
        plan(after: Self.gatheringTime)
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
            query(slot, chunk) { [weak self] in self?.take($0, slot) }
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
    /// Nil when there is no usable response.
    fileprivate init?(_ outcome: RequestOutcome) {
        guard case .response(let response) = outcome, response.status == 200 else { return nil }
        var reader = ByteReader(response.payload.bytes)
        guard let positions = try? StreamPositions(from: &reader) else { return nil }
        self = positions
    }
}
