import Bytes
import Glibc
import Models
import Reactor

/// The latest changes of a room as bytes and as parsed values, with the time of each acknowledgement.
///
/// Every member of a room gets the same bytes. They are compared with those of another member and parsed only if no
/// member had them. All arrivals of a change use its acknowledgement, to measure the lag of fanout.
@Reactor
final class RecentFrames {
    private struct Slot {
        var seq: Int64 = 0
        var count = 0
        var change = ArrivedChange(conversation: ConversationID(.zero), seq: 0)
    }

    /// The number of changes, a power of two. A small group has few in flight, and there may be thousands of groups.
    private let capacity: Int
    /// The bytes kept per frame. Longer frames are parsed each time.
    private static let bytesEach = 1024

    private let bytes: UnsafeMutableRawBufferPointer
    private var slots: [Slot]
    private var acknowledgements: [(seq: Int64, at: MonotonicTime)]

    init(members: Int) {
        capacity = members < 50 ? 256 : 4096
        bytes = .allocate(byteCount: capacity * Self.bytesEach, alignment: 16)
        slots = Array(repeating: Slot(), count: capacity)
        acknowledgements = Array(repeating: (0, MonotonicTime(nanoseconds: 0)), count: capacity)
    }

    isolated deinit { bytes.deallocate() }

    private func index(of seq: Int64) -> Int { Int(seq) & (capacity - 1) }

    /// Returns the parsed change if another session got the same bytes at this position.
    func change(at seq: Int64, _ frame: UnsafeRawBufferPointer) -> ArrivedChange? {
        let index = index(of: seq)
        guard slots[index].seq == seq, slots[index].count == frame.count,
            memcmp(bytes.baseAddress! + index * Self.bytesEach, frame.baseAddress!, frame.count) == 0
        else { return nil }
        return slots[index].change
    }

    func remember(_ change: ArrivedChange, _ frame: UnsafeRawBufferPointer) {
        let index = index(of: change.seq)
        guard frame.count <= Self.bytesEach, change.seq > slots[index].seq else { return }
        slots[index] = Slot(seq: change.seq, count: frame.count, change: change)
        memcpy(bytes.baseAddress! + index * Self.bytesEach, frame.baseAddress!, frame.count)
    }

    func acknowledge(_ seq: Int64, at now: MonotonicTime) {
        acknowledgements[index(of: seq)] = (seq, now)
    }

    /// Returns nil if there is none yet. A later acknowledgement stands in for one that was overwritten.
    func acknowledgement(of seq: Int64) -> MonotonicTime? {
        let entry = acknowledgements[index(of: seq)]
        return entry.seq >= seq ? entry.at : nil
    }
}
