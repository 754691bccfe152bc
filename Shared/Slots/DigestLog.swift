import Models
import Wire

/// Which streams moved since the last digest, slot by slot: what a subscriber needs to find out that it missed a frame.
///
/// Digests with content are numbered under the slot's epoch, from 1 and without gaps; one without content repeats the
/// last number, so the loss of a digest is found by the next one.
public struct DigestLog {
    /// Those of owned slots, by number.
    private var slots = [SlotLog?](repeating: nil, count: Slot.count)

    private struct SlotLog {
        let epoch: Int64
        var number: Int64 = 0
        var moved: [StreamKey: Int64] = [:]

        mutating func note(_ position: StreamPosition) {
            moved[position.key, default: 0].raise(to: position.position)
        }

        /// The content so far as the next digest, in an order of no meaning.
        mutating func takeDigest(of slot: Slot) -> DigestEntry {
            if !moved.isEmpty { number += 1 }
            defer { moved.removeAll(keepingCapacity: true) }
            return DigestEntry(
                slot: slot, epoch: epoch, number: number, moved: moved.map { StreamPosition($0.key, $0.value) })
        }
    }

    public init() {}

    public mutating func acquired(_ slot: Slot, epoch: Int64) { slots[Int(slot.number)] = SlotLog(epoch: epoch) }
    public mutating func lost(_ slot: Slot) { slots[Int(slot.number)] = nil }

    /// Notes that a transaction of `slot` moved a stream. Of several positions the highest counts. A slot that is not
    /// owned any more is left to its next owner: under the new epoch subscribers ask for everything they hold.
    public mutating func note(_ position: StreamPosition, in slot: Slot) {
        slots[Int(slot.number)]?.note(position)
    }

    /// Something of `slot` may have moved that nobody here knows of: a number without a digest makes subscribers ask.
    public mutating func doubt(_ slot: Slot) { slots[Int(slot.number)]?.number += 1 }

    /// The digests that are due, one for each owned slot, in order of the slots.
    public mutating func takeDigests() -> [DigestEntry] {
        Slot.all.compactMap { slots[Int($0.number)]?.takeDigest(of: $0) }
    }
}

extension Int64 {
    fileprivate mutating func raise(to value: Int64) { if self < value { self = value } }
}
