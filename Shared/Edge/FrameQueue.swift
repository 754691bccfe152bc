import Glibc

/// The frames queued for one WebSocket, oldest first, and how much of the oldest was sent.
public struct FrameQueue {
    private var frames: ContiguousArray<WebSocketFrame> = []
    private var first: Int32 = 0
    private var sentOfFirst: Int32 = 0
    /// Bytes that have not been sent.
    public private(set) var bytes = 0

    /// The maximum number of frames per system call.
    private static let framesPerWrite = 64
    /// The capacity kept while a WebSocket is busy …
    private static let keptFrames = 64
    /// … and while it is idle.
    private static let keptWhenIdle = 8

    public init() {}

    var isEmpty: Bool { bytes == 0 }

    public mutating func append(_ frame: WebSocketFrame) {
        frames.append(frame)
        bytes += frame.count
    }

    /// Calls `body` with the memory of the oldest frames.
    public func withVectors<Result>(_ body: (UnsafeMutableBufferPointer<iovec>) -> Result) -> Result {
        let count = min(Self.framesPerWrite, frames.count - Int(first))
        return withUnsafeTemporaryAllocation(of: iovec.self, capacity: count) { vectors in
            for index in 0..<count {
                let frame = frames[Int(first) + index]
                let skipped = index == 0 ? Int(sentOfFirst) : 0
                vectors[index] = iovec(iov_base: frame.start + skipped, iov_len: frame.count - skipped)
            }
            return body(vectors)
        }
    }

    /// Removes the first `count` bytes, which were sent.
    public mutating func removeFirst(_ count: Int) {
        bytes -= count
        var rest = count + Int(sentOfFirst)
        while Int(first) < frames.count, rest >= frames[Int(first)].count {
            rest -= frames[Int(first)].count
            first += 1
        }
        sentOfFirst = Int32(rest)
        if bytes == 0 {
            frames.removeAll(keepingCapacity: frames.capacity <= Self.keptFrames)
            first = 0
        } else if first >= Self.framesPerWrite {
            frames.removeFirst(Int(first))
            first = 0
        }
    }

    /// Releases the capacity of a busy period if the queue is empty.
    mutating func releaseRoom() {
        if frames.isEmpty, frames.capacity > Self.keptWhenIdle { frames = [] }
    }

    /// Removes all frames that are not partly sent: a frame that was begun must be finished.
    mutating func removeUnstarted() {
        let begun = sentOfFirst > 0 ? frames[Int(first)] : nil
        frames = []
        first = 0
        bytes = 0
        guard let begun else { return }
        frames.append(begun)
        bytes = begun.count - Int(sentOfFirst)
    }
}
