import Models

/// Records announced positions of streams without a feed here, while a session waits for its bootstrap.
///
/// The bootstrap is a snapshot. A change committed just after it may be announced, and even be in a digest, before the
/// response arrives and the stream has a feed. Without this record nothing would reveal that it is missing.
struct PositionRecorder<Key: Hashable> {
    enum Finding: Equatable {
        case nothing
        /// Everything up to this position exists.
        case position(Int64)
        /// Digests were missed: query the owner of the slot.
        case doubt

        /// Applies the finding to a stream that has just been opened.
        func apply(learn: (Int64) -> Void, doubt: () -> Void) {
            switch self {
            case .nothing: break
            case .position(let position): learn(position)
            case .doubt: doubt()
            }
        }
    }

    /// The most recorded streams. When there are more, all are in doubt.
    static var capacity: Int { 16_384 }

    private var bootstraps = 0
    private var positions: [Key: Int64] = [:]
    private var doubtfulSlots: Set<Slot> = []
    private var isAllInDoubt = false

    var isRecording: Bool { bootstraps > 0 }

    /// Begins recording for a bootstrap whose response will create feeds.
    mutating func beginBootstrap() { bootstraps += 1 }

    /// Ends recording for a bootstrap: its feeds were created, or never will be.
    mutating func endBootstrap() {
        bootstraps -= 1
        if bootstraps == 0 { self = PositionRecorder() }
    }

    mutating func record(_ key: Key, _ position: Int64) {
        guard isRecording, !isAllInDoubt else { return }
        if let seen = positions[key] {
            positions[key] = max(seen, position)
        } else if positions.count < Self.capacity {
            positions[key] = position
        } else {
            recordTotalLoss()
        }
    }

    mutating func recordLoss(in slot: Slot) { if isRecording { doubtfulSlots.insert(slot) } }

    mutating func recordTotalLoss() {
        guard isRecording else { return }
        isAllInDoubt = true
        positions = [:]
    }

    func finding(for key: Key, in slot: Slot) -> Finding {
        if isAllInDoubt || doubtfulSlots.contains(slot) { return .doubt }
        return positions[key].map { .position($0) } ?? .nothing
    }
}
