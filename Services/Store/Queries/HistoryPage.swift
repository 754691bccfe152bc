import Bytes
import JSON

/// A page of history cut to its limits: so many messages on either side of the pivot, and 512 KiB in all.
///
/// Messages are taken from the pivot outwards, the later side first, so what is cut is what is farthest from where the
/// reader looks. One message is always in the page.
struct HistoryPage {
    static let byteLimit = 512 * 1024

    private(set) var messages: [[UInt8]] = []
    private(set) var hasMoreBefore: Bool
    private(set) var hasMoreAfter: Bool

    /// `seqs` are the found messages, ascending, up to one more on either side than the bounds ask for; `encode` gives
    /// the JSON of one by its index.
    init(_ bounds: HistoryBounds, seqs: [Int64], encode: (Int) -> [UInt8]) {
        let middle = seqs.firstIndex { $0 >= bounds.pivot } ?? seqs.count
        let first = max(0, middle - bounds.older)
        let end = min(seqs.count, middle + bounds.newer)
        var size = 0

        func take(_ indices: some Sequence<Int>) -> (taken: [[UInt8]], isCut: Bool) {
            var taken: [[UInt8]] = []
            for index in indices {
                let encoded = encode(index)
                guard size == 0 || size + encoded.count <= Self.byteLimit else { return (taken, true) }
                size += encoded.count
                taken.append(encoded)
            }
            return (taken, false)
        }

        let newer = take(middle..<end)
        let older = take((first..<middle).reversed())
        messages = older.taken.reversed() + newer.taken
        hasMoreBefore = first > 0 || older.isCut
        hasMoreAfter = end < seqs.count || newer.isCut
    }

    func json(lastSeq: Int64) -> [UInt8] {
        var buffer = ByteBuffer(capacity: messages.reduce(256) { $0 + $1.count + 1 })
        buffer.beginObject()
        buffer.append(key: "messages")
        buffer.beginArray()
        for message in messages {
            buffer.beginElement()
            buffer.append(message)
        }
        buffer.endArray()
        buffer.append(key: "hasMoreBefore", json: hasMoreBefore)
        buffer.append(key: "hasMoreAfter", json: hasMoreAfter)
        buffer.append(key: "lastSeq", json: lastSeq)
        buffer.endObject()
        return buffer.array
    }
}
