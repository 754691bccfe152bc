import Bytes
import JSON
import Models

/// A page of history cut to its limits: a number of messages on either side of the pivot, and `pageBytes` in all.
///
/// Messages are taken from the pivot outwards, the later side first, so the messages farthest from the reader's
/// position are cut. A page holds at least one message.
struct HistoryPage: ~Copyable {
    /// The usual size of a message, so that most pages are written without growing the buffer.
    private static let usualMessage = 512

    /// The JSON of each message, ascending, as ranges of `encoded`.
    private let messages: [Range<Int>]
    private let encoded: ByteBuffer
    let hasMoreBefore: Bool
    let hasMoreAfter: Bool

    /// - Parameters:
    ///   - seqs: the found messages, ascending, with up to one more on either side than the bounds ask for.
    ///   - encode: writes the JSON of the message at an index.
    init(_ bounds: HistoryBounds, seqs: [Int64], encode: (Int, inout ByteBuffer) -> Void) {
        let middle = seqs.firstIndex { $0 >= bounds.pivot } ?? seqs.count
        let first = max(0, middle - bounds.older)
        let end = min(seqs.count, middle + bounds.newer)
        var buffer = ByteBuffer(capacity: (end - first) * Self.usualMessage)
        let newer = Self.take(middle..<end, into: &buffer, encode)
        let older = Self.take((first..<middle).reversed(), into: &buffer, encode)
        messages = older.reversed() + newer
        encoded = buffer
        hasMoreBefore = first > 0 || older.count < middle - first
        hasMoreAfter = end < seqs.count || newer.count < end - middle
    }

    /// Takes as many as fit.
    private static func take(
        _ indices: some Sequence<Int>, into buffer: inout ByteBuffer, _ encode: (Int, inout ByteBuffer) -> Void
    ) -> [Range<Int>] {
        var taken: [Range<Int>] = []
        for index in indices {
            let start = buffer.count
            encode(index, &buffer)
            guard start == 0 || buffer.count <= ContractLimits.pageBytes else {
                buffer.truncate(to: start)
                break
            }
            taken.append(start..<buffer.count)
        }
        return taken
    }

    var count: Int { messages.count }

    /// The JSON of a message. Valid as long as the page is.
    subscript(index: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: encoded.bytes[messages[index]]) }

    func json(lastSeq: Int64) -> [UInt8] {
        var buffer = ByteBuffer(capacity: encoded.count + messages.count + 128)
        buffer.beginObject()
        buffer.append(key: "messages")
        buffer.beginArray()
        for index in messages.indices {
            buffer.beginElement()
            buffer.append(self[index])
        }
        buffer.endArray()
        buffer.append(key: "hasMoreBefore", json: hasMoreBefore)
        buffer.append(key: "hasMoreAfter", json: hasMoreAfter)
        buffer.append(key: "lastSeq", json: lastSeq)
        buffer.endObject()
        return buffer.array
    }
}
