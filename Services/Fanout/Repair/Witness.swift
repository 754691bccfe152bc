import Models

/// What the bus says about streams that nobody here subscribes to, while a session asks for its bootstrap.
///
/// The bootstrap is a snapshot. A change committed right behind it may be announced, and even be in a digest, before the
/// answer is here and the stream has a feed: without a witness nothing would ever tell that it is missing.
struct Witness<Key: Hashable> {
    enum Testimony: Equatable {
        case nothing
        /// Everything up to here exists.
        case position(Int64)
        /// Digests were missed: the store has to be asked.
        case doubt

        /// Does what follows for a stream that has just been opened.
        func settle(learn: (Int64) -> Void, doubt: () -> Void) {
            switch self {
            case .nothing: break
            case .position(let position): learn(position)
            case .doubt: doubt()
            }
        }
    }

    /// Streams remembered. When there are more, all are in doubt.
    static var capacity: Int { 16_384 }

    private var questions = 0
    private var positions: [Key: Int64] = [:]
    private var doubtfulSlots: Set<Slot> = []
    private var isAllInDoubt = false

    var isListening: Bool { questions > 0 }

    /// A question is about to be asked, whose answer will create feeds.
    mutating func beginQuestion() { questions += 1 }

    /// The feeds were created, or never will be.
    mutating func endQuestion() {
        questions -= 1
        if questions == 0 { self = Witness() }
    }

    mutating func saw(_ key: Key, _ position: Int64) {
        guard isListening, !isAllInDoubt else { return }
        if let seen = positions[key] {
            positions[key] = max(seen, position)
        } else if positions.count < Self.capacity {
            positions[key] = position
        } else {
            missedEverything()
        }
    }

    mutating func missed(_ slot: Slot) { if isListening { doubtfulSlots.insert(slot) } }

    mutating func missedEverything() {
        guard isListening else { return }
        isAllInDoubt = true
        positions = [:]
    }

    func testimony(about key: Key, in slot: Slot) -> Testimony {
        if isAllInDoubt || doubtfulSlots.contains(slot) { return .doubt }
        return positions[key].map { .position($0) } ?? .nothing
    }
}
