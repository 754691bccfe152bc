import Models

/// Notices when digests of a slot were missed, by their numbers. See `DigestEntry`.
struct DigestTracker {
    enum Verdict: Equatable {
        /// Nothing is missing: what the digest says has moved is all that has.
        case complete
        /// Digests were missed, the owner changed, or this is the first: anything may have moved.
        case incomplete
        /// From a former owner: to be ignored.
        case outdated
    }

    private struct Place {
        var epoch: Int64
        var number: Int64
    }

    private var places = [Place?](repeating: nil, count: Slot.count)

    mutating func note(_ slot: Slot, epoch: Int64, number: Int64, hasContent: Bool) -> Verdict {
        let index = Int(slot.number)
        guard let place = places[index], place.epoch >= epoch else {
            places[index] = Place(epoch: epoch, number: number)
            return .incomplete
        }
        guard place.epoch == epoch else { return .outdated }
        guard number > place.number else { return .complete }
        places[index]?.number = number
        return hasContent && number == place.number + 1 ? .complete : .incomplete
    }
}
