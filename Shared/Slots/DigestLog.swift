import Models
import Wire

/// Records by slot which streams moved since the last digest. Digests let a subscriber find out that it missed a frame.
///
/// Digests with content are numbered from 1 without gaps under the slot's epoch; a digest without content repeats the
/// last number. The next digest therefore reveals a lost one.
public struct DigestLog {
    /// The logs of owned slots, by slot number.
    private var slots = [SlotLog?](repeating: nil, count: Slot.count)

    private struct SlotLog {
        let epoch: Int64
        var number: Int64 = 0
        var moved: [StreamKey: Int64] = [:]

        mutating func note(_ position: StreamPosition) {
            moved[position.key, default: 0].raise(to: position.position)
        }

        /// Returns the recorded positions as the next digest, in no particular order.
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

    /// Records that a transaction of `slot` moved a stream; the highest position counts. A slot that is no longer owned
    /// is ignored: its next owner has a new epoch, under which subscribers ask for every stream they hold.
    public mutating func note(_ position: StreamPosition, in slot: Slot) {
        slots[Int(slot.number)]?.note(position)
    }

    /// Skips a digest number, because an unknown stream of `slot` may have moved. The gap makes subscribers ask for
    /// every stream they hold.
    public mutating func doubt(_ slot: Slot) { slots[Int(slot.number)]?.number += 1 }

    /// Returns the digests that are due, one for each owned slot, ordered by slot.
    public mutating func takeDigests() -> [DigestEntry] {
        Slot.all.compactMap { slots[Int($0.number)]?.takeDigest(of: $0) }
    }
}

extension Int64 {
    fileprivate mutating func raise(to value: Int64) { if self < value { self = value } }
}
