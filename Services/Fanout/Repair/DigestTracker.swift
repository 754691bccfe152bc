import Models

/// Detects missed digests of a slot by their numbers. See `DigestEntry`.
struct DigestTracker {
    enum Verdict: Equatable {
        /// Nothing is missing: the digest names every stream that has moved.
        case complete
        /// Digests were missed, the owner changed, or this is the first digest: any stream may have moved.
        case incomplete
        /// The digest is from a former owner and is ignored.
        case outdated
    }

    private struct Position {
        var epoch: Int64
        var number: Int64
    }

    private var positions = [Position?](repeating: nil, count: Slot.count)

    mutating func note(_ slot: Slot, epoch: Int64, number: Int64, hasContent: Bool) -> Verdict {
        let index = Int(slot.number)
        guard let last = positions[index], last.epoch >= epoch else {
            positions[index] = Position(epoch: epoch, number: number)
            return .incomplete
        }
        guard last.epoch == epoch else { return .outdated }
        guard number > last.number else { return .complete }
        positions[index]?.number = number
        return hasContent && number == last.number + 1 ? .complete : .incomplete
    }
}
