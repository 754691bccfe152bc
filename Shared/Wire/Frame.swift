import Bytes

/// Why bytes from the bus are not a frame. Such bytes are counted and dropped.
public enum FrameError: Error, Equatable {
    case truncated
    case unknownTopic
    case unknownVersion(UInt8)
}

/// Builds the frame of one process's entries for one topic in one turn of its reactor.
///
/// Layout, big-endian: topic · version 1 (u8) · origin instance (u64) · entries, each length (u32) · body.
public struct FrameWriter: ~Copyable {
    static let version: UInt8 = 1

    private var buffer: ByteBuffer
    private let headerCount: Int

    public init(topic: Topic, origin: Instance) {
        buffer = ByteBuffer(capacity: 256)
        topic.encode(into: &buffer)
        buffer.append(Self.version)
        buffer.append(bigEndian: origin.number)
        headerCount = buffer.count
    }

    public var hasEntries: Bool { buffer.count > headerCount }
    public var count: Int { buffer.count }

    /// The complete frame. Valid until the next mutation.
    public var bytes: UnsafeRawBufferPointer { buffer.bytes }

    /// Adds an entry with the bytes that `body` appends.
    public mutating func append(_ body: (inout ByteBuffer) -> Void) {
        let start = buffer.count
        buffer.append(bigEndian: UInt32(0))
        body(&buffer)
        let length = buffer.count - start - MemoryLayout<UInt32>.size
        buffer.overwrite(at: start, bigEndian: UInt32(length))
    }

    /// Removes the entries. The header is kept for the next turn, and the memory unless it grew beyond `keptLimit`
    /// bytes.
    public mutating func removeEntries(keepingAtMost keptLimit: Int = .max) {
        if buffer.count > keptLimit {
            var smaller = ByteBuffer(capacity: 256)
            smaller.append(UnsafeRawBufferPointer(rebasing: buffer.bytes[..<headerCount]))
            buffer = smaller
        } else {
            buffer.truncate(to: headerCount)
        }
    }
}

/// A received frame. All lengths are checked before the first entry is returned, so a damaged frame has no effect.
///
/// It borrows the memory: valid as long as the bytes it was made from.
public struct FrameReader {
    public let topic: Topic
    public let origin: Instance
    private let body: UnsafeRawBufferPointer

    public init(_ bytes: UnsafeRawBufferPointer) throws(FrameError) {
        var reader = ByteReader(bytes)
        topic = try Topic(from: &reader)
        do {
            let version: UInt8 = try reader.read()
            guard version == FrameWriter.version else { throw FrameError.unknownVersion(version) }
            origin = Instance(try reader.read())
            body = reader.readRest()
            var entries = ByteReader(body)
            while !entries.isAtEnd { _ = try entries.readEntry() }
        } catch let error as FrameError {
            throw error
        } catch {
            throw .truncated
        }
    }

    public var entries: Entries { Entries(reader: ByteReader(body)) }

    /// The bodies of the entries, in the order they were appended.
    public struct Entries: Sequence, IteratorProtocol {
        fileprivate var reader: ByteReader

        public mutating func next() -> UnsafeRawBufferPointer? {
            reader.isAtEnd ? nil : try? reader.readEntry()
        }
    }
}

extension ByteReader {
    fileprivate mutating func readEntry() throws(TruncatedBytes) -> UnsafeRawBufferPointer {
        let length: UInt32 = try read()
        return try read(count: Int(length))
    }
}
