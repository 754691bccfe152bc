import Bytes
import Glibc
import Models
import Reactor

/// The latest changes of a room, as bytes and as what they say, and when each was acknowledged.
///
/// Every member of a room gets the same bytes: they are compared with those that another member got, and only read when
/// nobody did. And a change's acknowledgement is told to all of its arrivals, for the lag of the fanout.
@Reactor
final class RecentFrames {
    private struct Slot {
        var seq: Int64 = 0
        var count = 0
        var change = ArrivedChange(conversation: ConversationID(.zero), seq: 0)
    }

    private static let capacity = 4096
    /// Longer frames are read each time.
    private static let bytesEach = 1024

    private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity * bytesEach, alignment: 16)
    private var slots = Array(repeating: Slot(), count: capacity)
    private var acknowledgements = Array(repeating: (seq: Int64(0), at: MonotonicTime(nanoseconds: 0)), count: capacity)

    isolated deinit { bytes.deallocate() }

    /// What the frame of this position says, if these are the bytes that another session got for it.
    func change(at seq: Int64, _ frame: UnsafeRawBufferPointer) -> ArrivedChange? {
        let index = Int(seq) & (Self.capacity - 1)
        guard slots[index].seq == seq, slots[index].count == frame.count,
            memcmp(bytes.baseAddress! + index * Self.bytesEach, frame.baseAddress!, frame.count) == 0
        else { return nil }
        return slots[index].change
    }

    func remember(_ change: ArrivedChange, _ frame: UnsafeRawBufferPointer) {
        let index = Int(change.seq) & (Self.capacity - 1)
        guard frame.count <= Self.bytesEach, change.seq > slots[index].seq else { return }
        slots[index] = Slot(seq: change.seq, count: frame.count, change: change)
        memcpy(bytes.baseAddress! + index * Self.bytesEach, frame.baseAddress!, frame.count)
    }

    func acknowledge(_ seq: Int64, at now: MonotonicTime) {
        acknowledgements[Int(seq) & (Self.capacity - 1)] = (seq, now)
    }

    /// Nil when it was not yet. Of one so old that it was forgotten, a later acknowledgement stands for it.
    func acknowledgement(of seq: Int64) -> MonotonicTime? {
        let entry = acknowledgements[Int(seq) & (Self.capacity - 1)]
        return entry.seq >= seq ? entry.at : nil
    }
}
